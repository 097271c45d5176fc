"""kernels_to_host.py SOURCE TARGET: rewrites CUDA C++ so that the host's compiler takes it.

Two things have no other spelling in C++: a launch, `kernel<<<grid, block>>>(arguments)`, and that
shared memory begins with garbage. The rest is in runtime/device_code.hpp.
"""

import re
import sys

OPENING, CLOSING = "([{", ")]}"


def end_of_group(text: str, begin: int) -> int:
    """Behind the bracket that closes the one at `begin`."""
    depth = 0
    for at in range(begin, len(text)):
        depth += (text[at] in OPENING) - (text[at] in CLOSING)
        if depth == 0:
            return at + 1
    raise ValueError("a bracket is not closed")


def begin_of_kernel(text: str, end: int) -> int:
    """Where the name of the kernel begins, with its template arguments, that ends at `end`."""
    begin = end
    if text[begin - 1] == ">":
        depth = 0
        while True:
            begin -= 1
            depth += (text[begin] == ">") - (text[begin] == "<")
            if depth == 0:
                break
    return begin - len(re.search(r"\w*$", text[:begin])[0])


def rewrite_launches(text: str) -> str:
    while (at := text.find("<<<")) >= 0:
        name_end = len(text[:at].rstrip())
        name_begin = begin_of_kernel(text, name_end)
        close = text.index(">>>", at)
        arguments = text.index("(", close)
        end = end_of_group(text, arguments)
        kernel = text[name_begin:name_end]
        call = f"[](auto... kernel_arguments) {{ {kernel}(kernel_arguments...); }}"
        text = (
            f"{text[:name_begin]}::emulation::Launch{{{text[at + 3 : close]}}}"
            f"(__PRETTY_FUNCTION__, {call}, {text[arguments + 1 : end]}{text[end:]}"
        )
    return text


def end_of_declaration(text: str, begin: int) -> int:
    at = begin
    while text[at] != ";":
        at = end_of_group(text, at) if text[at] in OPENING else at + 1
    return at + 1


def mark_shared(text: str) -> str:
    done, rest = "", text
    while (at := rest.find("__shared__")) >= 0:
        end = end_of_declaration(rest, at)
        name = re.search(r"(\w+)(\[[^;]*\])*;$", rest[:end])[1]
        done += f"{rest[:end]} ::emulation::fresh_shared(&{name}, sizeof {name});"
        rest = rest[end:]
    return done + rest


def main(source: str, target: str) -> None:
    with open(source, encoding="utf-8") as file:
        text = file.read()
    with open(target, "w", encoding="utf-8") as file:
        file.write(f'#line 1 "{source}"\n{mark_shared(rewrite_launches(text))}')


if __name__ == "__main__":
    main(*sys.argv[1:])
