"""What a ledger's text says is read back as the same facts, whatever they are called."""

from hypothesis import given, settings
from hypothesis import strategies as st

from condense.notes.ledger import Failure, FileUse, Ledger, Request, Run, Todo
from condense.notes.ledger_text import parse_ledger, render
from condense.notes.paths import by_folder, common_root, file_lines, read_files

# Letters of several scripts, and what ledgers are written with.
SIGNS = st.sampled_from([*"abB1 ~.-_#⇒[]/+", "é", "端", "日", "ش", "д", "क", "😀", "end", "re: "])
NAMES = st.lists(SIGNS, min_size=1, max_size=8).map("".join).map(lambda name: name.replace("/", ""))
NAME = NAMES.map(str.strip).filter(lambda name: name not in {"", ".", ".."})
FOLDERS = st.lists(NAME, max_size=4)
IDENTIFIERS = st.lists(st.from_regex(r"\A[a-zé端]\w{2,8}\Z"), max_size=3, unique=True).map(tuple)
COUNTS = st.integers(0, 20)


@st.composite
def trees(draw: st.DrawFn) -> tuple[FileUse, ...]:
    """Return files of a tree, some of which lie in each other's folders or outside."""
    folders = draw(st.lists(FOLDERS, min_size=1, max_size=4))
    roots = ["/home/me/project", "/home/me/project/transcript", "", "/", "src"]
    paths = draw(
        st.lists(
            st.tuples(st.sampled_from(roots), st.sampled_from([[], *folders]), NAME).map(_path),
            max_size=10,
            unique=True,
        )
    )
    return by_folder(FileUse(p, draw(COUNTS), draw(COUNTS), draw(IDENTIFIERS)) for p in paths)


def _path(parts: tuple[str, list[str], str]) -> str:
    root, folders, name = parts
    return "/".join(part for part in (root.rstrip("/"), *folders, name) if part or root == "/")


@settings(max_examples=100, deadline=None)
@given(trees())
def test_files_of_any_tree_are_read_back_as_they_were(files: tuple[FileUse, ...]) -> None:
    """In the common folder or outside of it, with spaces in their names, in any script."""
    root = common_root(file.path for file in files)
    assert read_files([*file_lines(files, root)], root) == files


def test_a_file_in_the_common_folder_is_not_taken_for_one_of_the_folder_before() -> None:
    """It is written whole."""
    paths = ["/home/me/project/transcript/a.py", "/home/me/project/transcript/b.py"]
    paths += [
        "/home/me/project/README.md",
        "/home/me/project/docs/c.md",
        "/home/me/project/src/d.py",
    ]
    files = tuple(FileUse(path) for path in paths)
    root = common_root(paths)
    assert root == "/home/me/project/"
    lines = [*file_lines(files, root)]
    assert "0/0 /home/me/project/README.md" in lines
    assert read_files(lines, root) == files


LINES = st.lists(SIGNS, min_size=1, max_size=12).map("".join).map(str.strip).filter(bool)
WORDS = st.lists(st.one_of(SIGNS, st.just("\n"), st.just("[…]")), min_size=1, max_size=20).map(
    "".join
)
MAYBE = st.one_of(st.just(""), LINES)
SUBJECTS = LINES.map(lambda line: line.replace("⇒", "=>"))


@st.composite
def ledgers(draw: st.DrawFn) -> Ledger:
    """Return any ledger."""
    return Ledger(
        requests=draw(st.lists(st.builds(Request, WORDS, MAYBE, MAYBE), max_size=3).map(tuple)),
        files=draw(trees()),
        runs=draw(
            st.lists(
                st.builds(Run, LINES, st.integers(1, 9), st.sampled_from(["", "!", "?"])),
                max_size=3,
            ).map(tuple)
        ),
        failures=draw(st.lists(st.builds(Failure, SUBJECTS, LINES), max_size=2).map(tuple)),
        todos=draw(
            st.lists(st.builds(Todo, st.just("1"), LINES, st.booleans()), max_size=2).map(tuple)
        ),
        done=draw(COUNTS),
        statements=draw(st.lists(LINES, max_size=2).map(tuple)),
        identifiers=draw(IDENTIFIERS),
        names=draw(st.lists(LINES, max_size=2).map(tuple)),
    )


@settings(max_examples=100, deadline=None)
@given(ledgers())
def test_any_ledger_is_read_back_as_it_was(facts: Ledger) -> None:
    """Fact by fact, so that it can be carried over any number of rounds."""
    assert (parse_ledger(render(facts)) or Ledger()) == facts


def test_a_file_whose_name_looks_like_a_fence_ends_no_ledger() -> None:
    """The fence is longer than what begins any line, also of a name within its folder."""
    facts = Ledger(files=(FileUse("/p/~ end", 1, 0), FileUse("/p/~~ commands", 0, 2)))
    assert parse_ledger(render(facts)) == facts


def test_ledgers_of_earlier_versions_are_read() -> None:
    """They said above a request how much of it was cut off."""
    text = "## Ledger ~\nx\n~ user messages\n~+120 characters\nDo this\n~\nDo that\n~ end"
    assert parse_ledger(text) == Ledger(requests=(Request("Do this\n[…]"), Request("Do that")))
