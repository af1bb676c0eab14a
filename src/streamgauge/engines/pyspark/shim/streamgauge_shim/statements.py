"""SQL statements: whether they only read, and what the others write to."""

from __future__ import annotations

import re

TOKEN = re.compile(
    r"""(?P<skipped>\s+|--(?:\\\n|[^\r\n])*)
    |(?P<comment>/\*(?!\+))
    |(?P<raw>[rR](?:'[^']*'|"[^"]*"))
    |(?P<string>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
    |(?P<name>`(?:[^`]|``)*`)
    |(?P<word>\w+)
    |(?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
# Within a comment, Spark takes the beginning of a hint for text.
COMMENT_EDGE = re.compile(r"/\*(?!\+)|\*/")
QUERIES = ("SELECT", "VALUES", "TABLE", "FROM", "WITH")
# What may follow the last bracket of a WITH clause.
CONTINUATIONS = (*QUERIES, "UNION", "EXCEPT", "INTERSECT", "MINUS", "ORDER", "SORT", "LIMIT", "OFFSET", "CLUSTER")
CONTINUATIONS += ("DISTRIBUTE", "|", ")", ";", "")
COMMANDS = re.compile(
    r"(SHOW|DESCRIBE|DESC|EXPLAIN|USE|SET|RESET|CACHE|UNCACHE|REFRESH|CLEAR CACHE|DECLARE"
    r"|CREATE (OR REPLACE )?(GLOBAL )?TEMP(ORARY)? (VIEW|FUNCTION)|DROP TEMP(ORARY)? (FUNCTION|VARIABLE|VIEW)"
    # Of the current database: this is how a temporary view is dropped.
    r"|DROP VIEW (IF EXISTS )?(GLOBAL_TEMP \. )?[^ .]+( ;)*$)(?= |$)"
)
THING = "(?:EXTERNAL |MATERIALIZED )?(?:TABLE|VIEW|DATABASE|SCHEMA|NAMESPACE|FUNCTION)"
INSERT = "INSERT (?:WITH SCHEMA EVOLUTION )?(?:OVERWRITE (?:LOCAL )?DIRECTORY|(?:INTO|OVERWRITE)(?: TABLE)?)"
INSERTS = re.compile(f"(?<![^ ])(?P<kind>{INSERT}) (?P<name>[^ ]+)")
WRITES = re.compile(
    f"(?P<kind>{INSERT}|CREATE (?:OR REPLACE )?{THING}(?: IF NOT EXISTS)?|REPLACE TABLE"
    "|MERGE (?:WITH SCHEMA EVOLUTION )?INTO|DELETE FROM|UPDATE|COPY INTO"
    f"|(?:DROP|ALTER|TRUNCATE|ANALYZE|RESTORE) {THING}(?: IF EXISTS)?"
    "|(?:MSCK )?REPAIR TABLE|(?:OPTIMIZE|VACUUM)(?: TABLE)?) (?P<name>[^ ]+)"
)
PLACES = re.compile("(?<![^ ])(?:LOCATION (?=')|RENAME TO )(?P<name>[^ ]+)")
EXECUTES = re.compile("(?<![^ ])EXECUTE IMMEDIATE(?![^ ])")
QUOTED = {"string": "'", "raw": "'", "name": "`"}
"""What stands for a quoted token where keywords are looked for."""


class Statement:
    """One statement of SQL, without its comments."""

    def __init__(self, text):
        self._tokens = list(tokens(text))
        self._shape = " ".join(QUOTED.get(kind) or token.upper() for kind, token in self._tokens)
        self._verb = self._place_of_verb()
        """Where its main clause begins in the shape: behind a WITH clause."""

    def only_reads(self):
        query = self._shape.lstrip("( ")
        if EXECUTES.search(query):
            return False
        if query == self._shape and COMMANDS.match(query):
            return True
        if query.partition(" ")[0] not in QUERIES or INSERTS.search(query):
            return False
        return self._shape[self._verb :].lstrip("( ").partition(" ")[0] in CONTINUATIONS

    def kind(self):
        """Its first words, which hold no data of the script's."""
        found = self._write()
        if found is not None:
            return found.group("kind")
        words = re.match("EXECUTE IMMEDIATE|[A-Z]+(?![^ ])", self._shape)
        return words.group(0) if words else "an unknown statement"

    def targets(self):
        """The tables and paths that it writes, None for one whose name it does not spell out."""
        written = [found for found in [WRITES.match(self._shape, self._verb)] if found is not None]
        written += [found for found in INSERTS.finditer(self._shape) if found.start() > self._verb]
        names = [self._name_at(found.start("name")) for found in written]
        if self._shape.startswith(("CREATE", "REPLACE", "ALTER")) or " DIRECTORY " in self._shape:
            names += [self._name_at(found.start("name")) for found in PLACES.finditer(self._shape)]
            names += self._places_in_options()
        return names

    def _write(self):
        return WRITES.match(self._shape, self._verb) or INSERTS.search(self._shape)

    def _place_of_verb(self):
        if not self._shape.lstrip("( ").startswith("WITH "):
            return 0
        start = len(self._shape) - len(self._shape.lstrip("( "))
        depth, place, closed = 0, start, False
        for word in self._shape[start:].split(" "):
            if depth == 0 and closed and word not in (",", "AS", "(", "MAX"):
                return place
            closed = depth == 1 and word == ")"
            depth += {"(": 1, ")": -1}.get(word, 0)
            place += len(word) + 1
        return len(self._shape)

    def _name_at(self, place):
        """The name or path whose first token is there, unquoted; None for an expression."""
        number = self._shape.count(" ", 0, place)
        rest = self._tokens[number:]
        if [token.upper() for _, token in rest[:2]] == ["IDENTIFIER", "("]:
            literal = len(rest) > 3 and rest[2][0] in ("string", "raw") and rest[3][1] == ")"
            return unquoted(rest[2]) if literal else None
        if rest[0][0] == "other":
            return None
        parts = [unquoted(rest[0])]
        if rest[0][0] in ("string", "raw"):
            # Spark joins literals that follow each other.
            for token in rest[1:]:
                if token[0] not in ("string", "raw"):
                    break
                parts.append(unquoted(token))
            return "".join(parts)
        while len(rest) > 2 and rest[1] == ("other", ".") and rest[2][0] != "other":
            rest = rest[2:]
            parts.append(unquoted(rest[0]))
        # delta.`s3a://lake/orders` is a path.
        return parts[-1] if "/" in parts[-1] else ".".join(parts)

    def _places_in_options(self):
        """The values of ``path`` and ``url``."""
        names = []
        for number, token in enumerate(self._tokens[:-1]):
            if unquoted(token).lower() in ("path", "url"):
                after = number + 2 if self._tokens[number + 1] == ("other", "=") else number + 1
                if after < len(self._tokens) and self._tokens[after][0] in ("string", "raw"):
                    names.append(unquoted(self._tokens[after]))
        return names


def tokens(text):
    """Kind and text of each token, without comments, which may hold comments."""
    place = 0
    while place < len(text):
        found = TOKEN.match(text, place)
        place = found.end()
        if found.lastgroup == "comment":
            depth = 1
            while depth and place < len(text):
                edge = COMMENT_EDGE.search(text, place)
                place = edge.end() if edge else len(text)
                depth += 0 if edge is None else 1 if edge.group(0) == "/*" else -1
        elif found.lastgroup != "skipped":
            yield found.lastgroup, found.group(0)


def unquoted(token):
    kind, text = token
    if kind == "raw":
        return text[2:-1]
    if kind == "string":
        return re.sub(r"\\(.)", r"\1", text[1:-1], flags=re.DOTALL)
    return text[1:-1].replace("``", "`") if kind == "name" else text
