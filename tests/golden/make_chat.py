#!/usr/bin/env python3
# Makes chat.json: conversations as Jinja renders them with templates of the known formats.
"""Usage: make_chat.py [--template FILE] [OUTPUT]    needs the package jinja2 (3.1)

Writes OUTPUT, by default data/chat.json. With --template, the template is that of a file, for a run by hand.
"""
import sys

if {"-h", "--help"} & {*sys.argv[1:]}:  # before anything is imported that may be missing
    sys.exit(print(__doc__))

import argparse
import json
import pathlib

from jinja2.sandbox import ImmutableSandboxedEnvironment

# Written for this test, in the ways that published templates of these formats are written.
TEMPLATES = {
    "chatml": ["{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>' + '\\n' }}"
               "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}", "<s>", "<|im_end|>"],
    "chatml, default": ["{% for m in messages %}{% if loop.first and m['role'] != 'system' %}{{ '<|im_start|>system\nYou are "
                        "Loom.\nIt\\'s fine to say \"no\".<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + m['role'] + '\n' + "
                        "m['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}"
                        "{{ '<|im_start|>assistant\n' }}{% endif %}", "<s>", "<|im_end|>"],
    "chatml, tools": ["{%- if tools %}\n    {{- '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' }}\n"
                      "{%- else %}\n    {%- if messages[0]['role'] == 'system' %}\n        {{- '<|im_start|>system\\n' + "
                      "messages[0]['content'] + '<|im_end|>\\n' }}\n    {%- else %}\n        {{- \"<|im_start|>system\\nBe "
                      "brief, that's all.<|im_end|>\\n\" }}\n    {%- endif %}\n{%- endif %}\n{%- for message in messages %}\n"
                      "    {%- if message.role == 'user' or message.role == 'assistant' %}\n        {{- '<|im_start|>' + "
                      "message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}\n    {%- endif %}\n{%- endfor %}\n"
                      "{%- if add_generation_prompt %}\n    {{- '<|im_start|>assistant\\n' }}\n{%- endif %}\n", "", "<|im_end|>"],
    "chatml, begin": ["{{ bos_token }}{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content | trim }}<|im_end|>\n"
                      "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}", "<s>", "<|im_end|>"],
    "llama3": ["{% for m in messages %}{% set text = '<|start_header_id|>' + m['role'] + '<|end_header_id|>\n\n' + "
               "m['content'] | trim + '<|eot_id|>' %}{% if loop.first %}{{ bos_token }}{% endif %}{{ text }}{% endfor %}"
               "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}",
               "<|begin_of_text|>", "<|eot_id|>"],
    "llama3, dated": ["{{- bos_token }}\n{%- if not day is defined %}\n    {%- set day = '26 Jul 2024' %}\n{%- endif %}\n"
                      "{%- if messages[0]['role'] == 'system' %}\n    {%- set system = messages[0]['content'] | trim %}\n"
                      "    {%- set messages = messages[1:] %}\n{%- else %}\n    {%- set system = '' %}\n{%- endif %}\n"
                      "{{- '<|start_header_id|>system<|end_header_id|>\\n\\n' }}\n{{- 'Cutting Knowledge Date: December 2023"
                      "\\n' }}\n{{- 'Today Date: ' + day + '\\n\\n' }}\n{{- system }}\n{{- '<|eot_id|>' }}\n"
                      "{%- for m in messages %}\n    {{- '<|start_header_id|>' + m['role'] + '<|end_header_id|>\\n\\n' + "
                      "m['content'] | trim + '<|eot_id|>' }}\n{%- endfor %}\n{%- if add_generation_prompt %}\n"
                      "    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}\n{%- endif %}\n",
                      "<|begin_of_text|>", "<|eot_id|>"],
    "zephyr": ["{% for m in messages %}\n{% if m['role'] == 'user' %}\n{{ '<|user|>\n' + m['content'] + eos_token }}\n"
               "{% elif m['role'] == 'system' %}\n{{ '<|system|>\n' + m['content'] + eos_token }}\n{% else %}\n"
               "{{ '<|assistant|>\n' + m['content'] + eos_token }}\n{% endif %}\n"
               "{% if loop.last and add_generation_prompt %}\n{{ '<|assistant|>' }}\n{% endif %}\n{% endfor %}", "<s>", "</s>"],
}


def conversations():
    def of(*texts, first=0):
        return [{"role": ("system", "user", "assistant")[n if n < 3 else 2 - n % 2], "content": text}
                for n, text in enumerate(texts, first)]
    return [of("Hello", first=1), of("Be kind.", "Hello"), of("Hi", "Hello! ", " And\n\nnow?\n", first=1),
            of("  You are\nterse. ", "1 + 1?", "2", "\u3000why\u00a0", "\n\nBecause.", " ", "é 北"), of("", "", "", ""), of("\nx", first=1)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--template", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path, nargs="?", default=pathlib.Path(__file__).parent / "data/chat.json")
    arguments = parser.parse_args()
    # The options with which the package transformers renders templates.
    jinja = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    templates = {"": [arguments.template.read_text(), "<s>", "</s>"]} if arguments.template else TEMPLATES
    result = []
    for name, (template, bos, eos) in templates.items():
        cases = [{"messages": messages, "ask": ask, "text": jinja.from_string(template).render(
                    messages=messages, add_generation_prompt=ask, bos_token=bos, eos_token=eos)}
                 for messages in conversations() for ask in (True, False)]
        result.append({"name": name, "template": template, "bos": bos, "eos": eos, "cases": cases})
    arguments.output.write_text(json.dumps(result, separators=(",", ":")) + "\n")


main()
