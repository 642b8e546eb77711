# What tests/bench/compare.py is made of, one job a file.
