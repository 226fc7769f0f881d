"""Which addresses a user may send this server to."""

from collections.abc import Sequence

import pytest

from chatapp.project.network import AddressRefused, Guard, host_of, look_up, without_userinfo

PRIVATE = [
    "http://localhost:9000", "http://LOCALHOST./", "http://api.localhost/", "http://127.0.0.1/",
    "http://127.1/", "http://2130706433/", "http://0x7f000001/", "http://0177.0.0.1/",
    "http://0.0.0.0/", "http://0/", "http://10.1.2.3/", "http://172.16.0.1/",
    "https://192.168.1.1/v1", "http://169.254.169.254/latest/", "http://100.64.0.1/",
    "http://255.255.255.255/", "http://224.0.0.1/", "http://[::1]/", "http://[::]/",
    "http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/", "http://[::127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/", "http://[2002:7f00:1::]/", "http://[fe80::1]/",
    "http://[fe80::1%25eth0]/", "http://[fd00::1]/", "http://[fec0::1]/", "http://[feff::1]/",
    "http://[ff02::1]/",
]  # fmt: skip
UNUSABLE = [
    "", "llm.example.org", "//llm.example.org/", "http://", "http:///v1", "http://[::1",
    "http://llm.example.org:99999/", "http://llm.example.org:0/", "http://llm.example.org:port/",
    "http://llm.example.org\\@127.0.0.1/", "http://llm.example.org /",
    "http://llm.\nexample.org/", "ftp://llm.example.org/", "file:///etc/passwd",
    "javascript:alert(1)", "http://user:pw@llm.example.org/", "http://user@llm.example.org/",
    "http://@llm.example.org/",
]  # fmt: skip


class Resolver:
    """Answers with what it is given, one list per question, and counts the questions."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = iter(answers)
        self.asked: list[tuple[str, int]] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append((host, port))
        return next(self.answers)


def refusal(guard: Guard, url: str) -> str:
    """Return why an address is refused, or nothing."""
    try:
        guard.check(url)
    except AddressRefused as refused:
        return str(refused)
    return ""


def test_what_is_plainly_private_needs_the_operators_word() -> None:
    """However the number is written; no name server is asked."""
    refusals = {url: refusal(Guard(), url) for url in PRIVATE}
    assert [url for url, said in refusals.items() if "operator has not allowed" not in said] == []
    assert [url for url in PRIVATE if refusal(Guard(allow_private=True), url)] == []


def test_what_is_no_plain_web_address_is_refused_for_everyone() -> None:
    """Other schemes, user names and passwords, and what no parser reads alike."""
    for guard in (Guard(), Guard(allow_private=True)):
        assert [url for url in UNUSABLE if not refusal(guard, url)] == []


def test_a_public_address_is_fine() -> None:
    """Names are judged by where they lead, when they are called."""
    for url in ("https://llm.example.org/v1", "http://8.8.8.8:8080", "https://[2606:4700::1]/"):
        Guard().check(url)


async def test_a_name_is_judged_by_every_address_it_leads_to() -> None:
    """Once, and one private one is enough to refuse it, unless those are allowed."""
    public = Guard(resolve=Resolver(["8.8.8.8", "2606:4700::1", "8.8.8.8"]))
    assert await public.addresses("https://llm.example.org") == ("8.8.8.8", "2606:4700::1")
    mixed = Guard(resolve=Resolver(["8.8.8.8", "10.0.0.1"]))
    with pytest.raises(AddressRefused):
        await mixed.addresses("https://llm.example.org")
    resolver = Resolver(["8.8.8.8"], ["127.0.0.1"])
    assert await Guard(resolve=resolver).addresses("https://llm.example.org:444") == ("8.8.8.8",)
    assert resolver.asked == [("llm.example.org", 444)]
    with pytest.raises(OSError, match="no address"):
        await Guard(resolve=Resolver([])).addresses("http://llm.example.org")
    resolver = Resolver()
    assert await Guard(True, resolver).addresses("http://llm.example.org") is None
    assert resolver.asked == []


async def test_the_systems_resolver_reads_numbers_and_refuses_what_is_no_name() -> None:
    """Without a network; a label that is too long is no error of ours."""
    assert set(await look_up("127.0.0.1", 80)) == {"127.0.0.1"}
    for host in ("a" * 64 + ".example.org", "a..example.org"):
        with pytest.raises(AddressRefused):
            await look_up(host, 80)


def test_a_password_in_an_address_is_never_shown() -> None:
    """Only the part before the host goes; of something else sentences stay readable."""
    for url, shown in (
        ("http://user:pw@x.org:80/p?q#f", "http://x.org:80/p?q#f"),
        ("http://a:b@c:d@x.org/", "http://x.org/"),
        ("http://x.org/@home", "http://x.org/@home"),
    ):
        assert without_userinfo(url) == shown
        assert host_of(url) == shown.split("/")[2]
        assert host_of("http://[::1") == host_of("") == "This is not the address of a server."
