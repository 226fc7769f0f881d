"""Which language a file is written in, told by its extension."""

from pathlib import PurePosixPath

MARKDOWN = "markdown"

# Each language but Markdown has a grammar and the query file queries/<language>.scm.
LANGUAGES: dict[str, tuple[str, ...]] = {
    "c": ("c",),
    "c_sharp": ("cs",),
    "cpp": ("cpp", "cc", "cxx", "h", "hpp", "hh", "hxx"),  # a C header is valid C++, nearly always
    "css": ("css",),
    "elisp": ("el",),
    "elixir": ("ex", "exs"),
    "elm": ("elm",),
    "embedded_template": ("ejs", "erb"),
    "go": ("go",),
    "html": ("htm", "html"),
    "java": ("java",),
    "javascript": ("cjs", "js", "jsx", "mjs"),
    "json": ("json",),
    "kotlin": ("kt", "kts"),
    "lua": ("lua",),
    MARKDOWN: ("markdown", "md"),
    "ocaml": ("ml",),
    "ocaml_interface": ("mli",),
    "php": ("php",),
    "python": ("py", "pyi"),
    "ruby": ("rb",),
    "rust": ("rs",),
    "scala": ("sc", "scala"),
    "solidity": ("sol",),
    "swift": ("swift",),
    "tlaplus": ("tla",),
    "toml": ("toml",),
    "tsx": ("tsx",),
    "typescript": ("cts", "mts", "ts"),
    "vue": ("vue",),
    "zig": ("zig",),
}
_BY_EXTENSION = {
    extension: language for language, extensions in LANGUAGES.items() for extension in extensions
}


def language_of(path: str) -> str | None:
    """Return the language of a file by its name, None where there is no grammar for it."""
    return _BY_EXTENSION.get(PurePosixPath(path).suffix.lower().removeprefix("."))
