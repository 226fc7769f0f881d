"""Files of other programs: texts in other encodings, and office files."""
# ruff: noqa: RUF001 - words of other scripts

import io
import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import condense
from chatapp.agent.errors import ToolError
from chatapp.conversations.composer.attachments import block_for
from chatapp.models.errors import Refused
from chatapp.tools import apply_diff, documents, read_file, write_file
from chatapp.tools.workspace import WritableWorkspace
from tests.chatapp.tools.pdf_files import make_form, make_pdf

# What a text is written in, and read as.
TEXTS = [
    ("gb18030", "GBK", "你好，世界。这是一个编码测试文件。"),
    ("gb18030", "GBK", "姓名,年龄\n张三,30"),
    ("big5", "Big5", "姓名,年齡\n張三,30"),
    ("cp932", "Shift-JIS", "名前,年齢\n田中,30"),
    ("cp932", "Shift-JIS", "これは日本語のテキストです。"),
    ("euc-jp", "EUC-JP", "こんにちは世界"),
    ("cp949", "EUC-KR", "이름,나이\n홍길동,30"),
    ("cp1251", "WINDOWS-1251", "Привет, мир"),
    ("cp1251", "WINDOWS-1251", "Снощи обсъждахме пла"),
    ("koi8-r", "KOI8-R", "Привет, мир. Это тестовый файл"),
    ("cp1253", "WINDOWS-1253", "Καλημέρα κόσμε"),
    ("cp1255", "WINDOWS-1255", "שלום עולם, זה קובץ"),
    ("cp1256", "WINDOWS-1256", "مرحبا بالعالم هذا ملف"),
    ("cp1252", "WINDOWS-1252", "naïve café — déjà vu"),
    ("cp1252", "WINDOWS-1252", "25 °C, £5, à"),
    ("cp1252", "WINDOWS-1252", "No plano não há erros, e à noite é tudo são."),
    ("cp1252", "WINDOWS-1252", "A slit 5 µm wide, 20 °C"),
    ("cp1250", "WINDOWS-1250", "Zażółć gęślą jaźń"),
    ("cp1250", "WINDOWS-1250", "A szűrő a következő mezőre szól"),
    ("cp1254", "WINDOWS-1254", "Müdür siparişlerin arttığını söyledi"),
    ("cp1250", "WINDOWS-1250", "čeština"),
    ("cp1252", "WINDOWS-1252", "José"),
    ("cp932", "Shift-JIS", "エラー：ファイルがありません"),
    ("gb18030", "GBK", "int main(void) {\n  return 0;\n}\n" * 9 + "// 这里是初始化的代码"),
    ("big5", "Big5", "中文測試檔案"),
    ("koi8-r", "KOI8-R", "Привет"),
    ("cp1253", "WINDOWS-1253", "Καλημέρα"),
    ("cp1255", "WINDOWS-1255", "שלום"),
    ("cp1252", "WINDOWS-1252", "20°C, déjà vu, crème brûlée"),
    *((wide, wide.upper(), "größe\n1") for wide in ("utf-16-le", "utf-16-be", "utf-32-le")),
]
# What is read without a guess.
MARKED = ("utf-8", "utf-8-sig", "utf-16", "utf-32")
DAMAGED = {
    "Grüße, naïve, 日本\n".encode() + b"\xff\nend": "Grüße, naïve, 日本\n\ufffd\nend",
    b"\xef\xbb\xbfabc\xff": "abc\ufffd",
    "日本語のログ".encode()[:-1]: "日本語のロ\ufffd",
    "你好，世界。这是一个测试".encode("gb18030")[:-1]: "你好，世界。这是一个测\ufffd",
    "你好，世界。\n".encode("gb18030") + b"\xff\n" + "这是一个测试".encode("gb18030"): (
        "你好，世界。\n\ufffd\n这是一个测试"
    ),
    b"\0\0\0cut by a crash: \0 here\0\0": "cut by a crash: \ufffd here",
}


def said(block: condense.Block) -> str:
    """Return what the model reads of a file."""
    assert isinstance(block, condense.TextBlock)
    return block.text


@pytest.mark.parametrize(("codec", "name", "text"), TEXTS)
def test_a_text_is_read_in_its_encoding_and_both_are_told(codec: str, name: str, text: str) -> None:
    """The person by the chip, the model by an attribute."""
    block = block_for("a.txt", text.encode(codec))
    assert said(block) == f'<file name="a.txt" encoding="{name}">\n{text}\n</file>'
    assert condense.beside_of(block)["encoding"] == name


def test_a_mark_is_no_guess_and_few_damaged_bytes_are_shown_as_such() -> None:
    """Nothing else of the text is lost."""
    for codec in MARKED:
        assert said(block_for("a", "größe".encode(codec))) == '<file name="a">\ngröße\n</file>'
    for data, text in DAMAGED.items():
        assert f"\n{text}\n</file>" in said(block_for("a", data))


@pytest.mark.parametrize(
    ("codec", "name", "text"), [TEXTS[0], TEXTS[4], ("utf-16", "", "größe\r\n")]
)
def test_a_changed_file_keeps_its_encoding(codec: str, name: str, text: str, folder: Path) -> None:
    """Read, changed in part, and written anew; what it can't hold is refused."""
    workspace, file = WritableWorkspace(folder), folder / "a.txt"
    file.write_bytes(f"{text}\n1\n".encode(codec))
    read = str(read_file.run(workspace, read_file.Arguments("a.txt")))
    assert (f"[Read as {name}.]" in read) == bool(name)
    patch = "<<<<<<< SEARCH\n1\n=======\n2\n>>>>>>> REPLACE"
    apply_diff.run(workspace, apply_diff.Arguments("a.txt", patch))
    assert file.read_bytes() == f"{text}\n2\n".encode(codec)
    write_file.run(workspace, write_file.Arguments("a.txt", text[:4]))
    assert file.read_bytes() == text[:4].encode(codec)
    if codec == "cp932":
        with pytest.raises(ToolError, match="can't hold"):
            write_file.run(workspace, write_file.Arguments("a.txt", "한"))


def test_a_damaged_file_is_not_written_back(folder: Path) -> None:
    """It would lose what could not be read, or the order of its bytes."""
    for data in (*DAMAGED, b"\xfe\xff\0a\0\n"):
        (folder / "a.txt").write_bytes(data)
        with pytest.raises(ToolError, match="so it can't be written back"):
            apply_diff.run(
                WritableWorkspace(folder),
                apply_diff.Arguments("a.txt", "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE"),
            )
        assert (folder / "a.txt").read_bytes() == data


def packed(**parts: str) -> bytes:
    """Return an office file with these parts."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as package:
        for name, text in parts.items():
            package.writestr(name.replace("__", "/") + ".xml", text)
    return data.getvalue()


def document(body: str, head: str = "", **parts: str) -> bytes:
    """Return a .docx with this body."""
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    text = f'{head}<w:document xmlns:w="{space}"><w:body>{body}</w:body></w:document>'
    return packed(word__document=text, **parts)


def paragraph(text: str, style: str = "") -> str:
    """Return a paragraph of a .docx."""
    return f"<w:p><w:pPr>{style}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


ITEM = '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>'
CELL = "<w:tc>{}</w:tc>"


def test_an_office_file_is_read_as_markdown(folder: Path) -> None:
    """Headings, lists and tables; no entity reaches for another file."""
    row = f"<w:tr>{CELL.format(paragraph('A'))}{CELL.format(paragraph('B'))}</w:tr>"
    data = document(
        paragraph("标题", '<w:pStyle w:val="Heading1"/>')
        + paragraph("one", ITEM)
        + f"<w:tbl>{row}{row}</w:tbl>"
        + paragraph("&amp; &x;"),
        '<!DOCTYPE x [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
    )
    (folder / "a.docx").write_bytes(data)
    read = str(read_file.run(WritableWorkspace(folder), read_file.Arguments("a.docx")))
    for part in ("# 标题", "- one", "| A | B |\n", "& &x;"):
        assert re.sub(r"\n *\d+\t", "\n", read).count(part)
    assert "root:" not in read


def test_a_document_with_more_text_than_is_read_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody takes its beginning for all, nor the pages that were read."""
    monkeypatch.setattr(documents, "MAX_DOCUMENT_CHARS", 30)
    said = "[Only the first 30 characters.]"
    pages = documents.read_document(make_pdf("x" * 18, "y" * 18, "z"))
    assert pages
    assert pages[0] == f"[Page 1]\n{'x' * 18}\n[P\n{said}\n[Only the first 2 of 3 pages.]"
    assert documents.read_document(document(paragraph("x" * 31))) == (f"{'x' * 30}\n{said}", {})


MAIL = """From: =?utf-8?B?w4RubmU=?= <a@x.org>
Subject: Hi
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=b

--b
Content-Type: text/plain; charset=iso-8859-1
Content-Transfer-Encoding: quoted-printable

Gr=FC=DFe
--b
Content-Type: image/png
Content-Disposition: attachment; filename=a.png
Content-Transfer-Encoding: base64

SECRET
--b--
"""
PICTURE = {"data": {"image/png": "SECRET", "text/plain": ["<Figure>"]}}
CODE = {"cell_type": "code", "source": ["x = 1\n", "x"], "outputs": [{"text": ["1"]}, PICTURE]}
NOTEBOOK = {"nbformat": 4, "cells": [{"cell_type": "markdown", "source": "# Title"}, CODE]}
NOTES = "<w:footnotes>{}</w:footnotes>".format(paragraph("A &amp; B"))


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (MAIL.encode(), "From: Änne <a@x.org>\nSubject: Hi\n\nGrüße\n[Attached: a.png]"),
        (
            json.dumps(NOTEBOOK).encode(),
            "# Title\n\n```\nx = 1\nx\n```\n\n[Output]\n1\n\n[Output]\n<Figure>",
        ),
        (b'{"nbformat": 4, "cells": 7}', '{"nbformat": 4, "cells": 7}'),
        (b"From: me\n\nMIME-Version: 1.0", "From: me\n\nMIME-Version: 1.0"),
        (document(paragraph("Body"), word__footnotes=NOTES), "Body\n\n[footnotes]\nA & B"),
        (b"\xef\xbb\xbf\n" + make_pdf("Told"), "[Page 1]\nTold"),
        (make_form("Told", "name", "Änne"), "[Page 1]\nTold\n[Form]\nname: Änne"),
    ],
    ids=lambda one: str(one)[:20],
)
def test_words_that_a_file_wraps_in_others_are_read(data: bytes, text: str) -> None:
    """Without the pictures among them, which only cost tokens."""
    assert said(block_for("a", data)) == f'<file name="a">\n{text}\n</file>'


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        (
            "bomb.docx",
            lambda: document(paragraph("x") + "<!--" + "A" * 120_000_000 + "-->"),
            "save it again",
        ),
        ("cut.xlsx", packed(xl__workbook="<workbook/>")[:-20], "Open it, save it again"),
        (
            "old.doc",
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600),
            "Save it as PNG, PDF, .docx, .xlsx",
        ),
        ("a.odt", packed(content="<x/>"), "“a.odt” can't be attached. Save it as"),
        ("a.heic", b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "Save it as PNG"),
        ("a.tiff", b"II*\0\x08\0\0\0", "“a.tiff” can't be attached. Save it as PNG"),
        ("a.docx", b"\xd0\xcf\x11\xe0" + "EncryptedPackage".encode("utf-16-le"), "with a password"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_can_t_be_read_is_refused_by_name(
    name: str, data: bytes | Callable[[], bytes], reason: str
) -> None:
    """With what to do, and without harm to the server."""
    with pytest.raises(Refused, match=re.escape(reason)):
        block_for(name, data if isinstance(data, bytes) else data())
