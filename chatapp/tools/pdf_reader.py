"""Reader of PDFs, a program of its own: a hostile one ends with its processor's time and memory.

Arguments are the seconds of a processor that a PDF is worth, and the characters that are read.
Standard input is the PDF, output the JSON of ``read``.
"""

import contextlib
import io
import json
import logging
import resource
import sys
from typing import Any

# Pages that are read, and bytes of memory.
MAX_PAGES = 500
MEMORY = 1 << 30


def read(data: bytes, most: int) -> dict[str, object]:
    """Return a PDF as ``{"text", "rest", "pages"}``, or ``{"why"}`` it can't be read.

    Text with one character more than ``most`` was cut off; ``rest`` says if pages are missing.
    """
    import pypdf  # noqa: PLC0415 - the server imports this file, and needs no PDF library

    # It warns of everything that it mends, which helps nobody here.
    logging.getLogger("pypdf").setLevel(logging.ERROR)
    try:
        reader = pypdf.PdfReader(io.BytesIO(data))
        pages, size, texts = reader.pages, 0, []
        for page in pages[:MAX_PAGES]:
            texts.append(page.extract_text())
            size += len(texts[-1])
            if size > most:
                break
    except pypdf.errors.FileNotDecryptedError:
        return {"why": "locked"}
    except Exception:  # noqa: BLE001 - of any kind: a stranger wrote the file
        return {"why": "damaged"}
    form = _form_of(reader)
    if not any(text.strip() for text in (*texts, form)):
        return {"why": "empty"}
    named = (f"[Page {number}]\n{text}" for number, text in enumerate(texts, start=1))
    rest = f"\n[Only the first {len(texts):,} of {len(pages):,} pages.]" * (len(texts) < len(pages))
    text = "\n".join([*named, *filter(None, [form])])[: most + 1]
    return {"text": text, "rest": rest, "pages": len(pages)}


def _form_of(reader: Any) -> str:
    """Return the values of a PDF's form, which its pages do not have; "" without one."""
    with contextlib.suppress(Exception):
        fields = {name: one.get("/V") for name, one in (reader.get_fields() or {}).items()}
        told = [f"{name}: {value}" for name, value in fields.items() if value not in (None, "")]
        return "\n".join(["[Form]", *told]) if told else ""
    return ""


if __name__ == "__main__":
    seconds, most_read = map(int, sys.argv[1:])
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    print(json.dumps(read(sys.stdin.buffer.read(), most_read)))
