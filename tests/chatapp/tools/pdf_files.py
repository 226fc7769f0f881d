"""PDF files as small as they may be."""


def make_pdf(*texts: str) -> bytes:
    """Return a PDF whose pages say these texts."""
    streams = [f"BT /F1 12 Tf 20 100 Td ({text}) Tj ET".encode() for text in texts]
    pages = [4 + 2 * number for number in range(len(texts))]
    kids = " ".join(f"{page} 0 R" for page in pages)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for page, stream in zip(pages, streams, strict=True):
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R >> >> >>" % (page + 1)
        )
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
    written = [b"%d 0 obj\n%s\nendobj\n" % one for one in enumerate(objects, start=1)]
    # Readers find the objects also where no table says where they are.
    trailer = b"trailer << /Root 1 0 R /Size %d >>\nstartxref\n0\n%%%%EOF" % (len(objects) + 1)
    return b"%PDF-1.4\n" + b"".join(written) + trailer


def make_form(text: str, field: str, value: str) -> bytes:
    """Return a PDF whose page says a text, and whose form has this field filled in."""
    filled = f"<< /FT /Tx /T ({field}) /V <{value.encode('utf-16').hex()}> >>"
    data = make_pdf(text).replace(b"/Catalog", b"/Catalog /AcroForm << /Fields [9 0 R] >>")
    return data.replace(b"trailer", f"9 0 obj\n{filled}\nendobj\ntrailer".encode())


def make_endless() -> bytes:
    """Return a small PDF whose only page is drawn over and over."""
    drawn = b"BT /F1 12 Tf " + b"1 0 0 1 0 0 Tm (a b) Tj " * 2_000 + b"ET"
    form = b"/Subtype /Form /BBox [0 0 9 9] /Resources << /Font << /F1 3 0 R >> >>"
    stream = b"9 0 obj\n<< %b /Length %d >>\nstream\n%b\nendstream\nendobj\n"
    data = make_pdf(f") Tj ET {'/X Do ' * 30} BT (x")
    data = data.replace(b"/Resources <<", b"/Resources << /XObject << /X 9 0 R >>")
    return data.replace(b"trailer", stream % (form, len(drawn), drawn) + b"trailer")
