# Run by check.cmake; what the prints must show is in expected.txt.
set confirm off
set width 0
set print pretty on
set disable-randomization off
break look
run
up-silently
print w
print turned
print many
print none
print shape
print layer.weight
print outside
print tape
print y
continue
up-silently
print w
print layer.weight
print tape
print constant
kill
