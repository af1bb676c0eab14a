"""URLs and paths as they may be printed: without credentials."""

from __future__ import annotations

import re

# A secret may hold slashes: with a colon, everything up to the last @ is taken for a user and a password.
# What Azure has before the @ is the container.
USER = re.compile(r"//[^/@:\s]*:\S*@|(?<!abfs:)(?<!abfss:)(?<!wasb:)(?<!wasbs:)//[^/@\s]*@")
# jdbc:oracle:thin:scott/tiger@//host/service
JDBC_USER = re.compile(r"(jdbc:\w+:(?:\w+:)?)(?!//)\S*@")
PARAMETERS = re.compile(r"[?;].*", re.DOTALL)
JDBC_PARAMETERS = re.compile(r"([?;]|[:,/&]\w+=).*", re.DOTALL)
BEGINNING = re.compile(r"(?:[A-Za-z][\w+.-]*:)?(?://[^/]*)?/?")
VARYING = re.compile(r"\w+=.*|(?:(?:batch|epoch|run|part)[-_]?)?\d[\d_.:TZ+-]*", re.IGNORECASE)


def without_user(url):
    return JDBC_USER.sub(r"\1@", USER.sub("//", str(url)))


def bare(url):
    """Without user, password and parameters."""
    text = without_user(url)
    if "jdbc:" in text:
        return JDBC_PARAMETERS.sub("", text)
    return PARAMETERS.sub("", text) if re.match(r"[A-Za-z][\w+.-]*:", text) else text


def common_prefix(url):
    """The part of a URL or path that its next batches share: without batch numbers and dates at its end."""
    text = bare(url)
    root = BEGINNING.match(text).end()
    parts = text[root:].rstrip("/").split("/")
    kept = list(parts)
    while len(kept) > 1 and VARYING.fullmatch(kept[-1]):
        kept.pop()
    return text if kept == parts else text[:root] + "/".join(kept) + "/"
