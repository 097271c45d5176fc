"""The characters by which GPT-2's files write bytes: what can be seen stands for itself, the others for those from U+0100 on."""


def bytes_to_characters():
    visible = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in visible]
    return {**{byte: chr(byte) for byte in visible},
            **{byte: chr(256 + i) for i, byte in enumerate(others)}}


CHARACTERS = bytes_to_characters()


def written(token):
    return "".join(CHARACTERS[byte] for byte in token)
