"""Writes PDFs by hand, as small as they can be: lines of text on pages."""

from __future__ import annotations

from collections.abc import Sequence


def pdf(pages: Sequence[Sequence[str]]) -> bytes:
    """A PDF of these lines, page by page."""
    kids = " ".join(f"{number} 0 R" for number in range(4, 4 + 2 * len(pages), 2))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for number, lines in enumerate(pages):
        shown = _shown(lines)
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> "
            b"/Contents %d 0 R >>" % (5 + 2 * number)
        )
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(shown), shown))
    return _file(objects)


def _shown(lines: Sequence[str]) -> bytes:
    """The program that draws a page."""
    escaped = (line.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)") for line in lines)
    drawn = "\n".join(f"({line}) Tj T*" for line in escaped)
    return f"BT /F1 10 Tf 12 TL 50 750 Td\n{drawn}\nET".encode("cp1252")


def _file(objects: Sequence[bytes]) -> bytes:
    written, offsets = b"%PDF-1.4\n", []
    parts = [written]
    place = len(written)
    for number, body in enumerate(objects, 1):
        offsets.append(place)
        parts.append(b"%d 0 obj\n%s\nendobj\n" % (number, body))
        place += len(parts[-1])
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(objects) + 1
    parts.append(b"xref\n0 %d\n0000000000 65535 f \n%s" % (size, table))
    parts.append(b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (size, place))
    return b"".join(parts)


def sharing(packed: bytes, pages: int) -> bytes:
    """A PDF whose pages all show the same stream, which zlib packed."""
    page = (
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] "
        b"/Resources << /Font << /F1 3 0 R >> >> /Contents 4 0 R >>"
    )
    kids = " ".join(f"{number} 0 R" for number in range(5, 5 + pages))
    return _file(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            f"<< /Type /Pages /Kids [{kids}] /Count {pages} >>".encode(),
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
            b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(packed), packed),
            *[page] * pages,
        ]
    )
