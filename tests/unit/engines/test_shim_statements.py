"""The SQL of an unchanged script: what writes is refused, unless its target is allowed."""

from __future__ import annotations

from typing import Any

import pytest
from test_shim import events, shim

__all__ = ["shim"]


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT 'insert into orders' AS text",
        "-- nightly\nSELECT /*+ BROADCAST(x) */ * FROM x",
        "WITH t(a) AS (SELECT 1), u AS (SELECT 2) SELECT * FROM t, u",
        "WITH t AS (SELECT 1) (SELECT * FROM t)",
        "WITH RECURSIVE t(n) MAX RECURSION LEVEL 9 AS (SELECT 1) SELECT update, delete FROM t",
        "VALUES (1)",
        "TABLE orders",
        "FROM orders SELECT *",
        "(SELECT 1) UNION (SELECT 2)",
        "SHOW TABLES",
        "DESCRIBE orders",
        "desc orders;",
        "EXPLAIN INSERT INTO orders SELECT 1",
        "USE shop",
        "SET spark.sql.shuffle.partitions=2",
        "RESET",
        "CACHE TABLE orders",
        "UNCACHE TABLE orders",
        "REFRESH TABLE orders",
        "CLEAR CACHE",
        "CREATE OR REPLACE GLOBAL TEMPORARY VIEW v AS SELECT 1",
        "CREATE TEMP VIEW v AS SELECT 1",
        "CREATE TEMPORARY FUNCTION f AS 'a.B'",
        "DROP TEMPORARY FUNCTION f",
        "DROP VIEW IF EXISTS global_temp.v",
        "DECLARE VARIABLE x INT",
    ],
)
def test_statements_that_read_are_passed_on(shim: Any, statement: str) -> None:
    shim.sessions.check_statement(statement)


@pytest.mark.parametrize(
    ("statement", "shown"),
    [
        ("EXECUTE IMMEDIATE 'DROP TABLE orders'", "EXECUTE IMMEDIATE"),
        ("EXPLAIN EXECUTE IMMEDIATE 'DROP TABLE orders'", "EXPLAIN"),
        ("BEGIN INSERT INTO orders VALUES (1); END", "INSERT INTO orders"),
        ("BEGIN SELECT 1; END", "BEGIN"),
        ("label: BEGIN SELECT 1; END", "LABEL"),
        ("/* a /* b */ */ DROP TABLE orders", "DROP TABLE orders"),
        ("/* a /*+ b */ DROP TABLE orders -- */", "DROP TABLE orders"),
        ("-- a \\\n still a comment\nDROP TABLE orders", "DROP TABLE orders"),
        ("SELECT r'\\' /* ' */; INSERT INTO orders SELECT 1", "INSERT INTO orders"),
        ("CALL system.rollback('orders', 1)", "CALL"),
        ("VACUUM orders", "VACUUM orders"),
        ("OPTIMIZE orders", "OPTIMIZE orders"),
        ("RESTORE TABLE orders TO VERSION AS OF 1", "RESTORE TABLE orders"),
        ("COPY INTO orders FROM '/x'", "COPY INTO orders"),
        ("MSCK REPAIR TABLE orders", "MSCK REPAIR TABLE orders"),
        ("ANALYZE TABLE orders COMPUTE STATISTICS", "ANALYZE TABLE orders"),
        ("CREATE DATABASE shop LOCATION 's3a://lake/shop'", "CREATE DATABASE shop"),
        ("CREATE MATERIALIZED VIEW v AS SELECT 1", "CREATE MATERIALIZED VIEW v"),
        ("CREATE VIEW v AS SELECT 1", "CREATE VIEW v"),
        ("DROP VIEW shop.v", "DROP VIEW shop.v"),
        ("WITH x AS (SELECT 1) DELETE FROM orders", "DELETE FROM orders"),
        ("WITH x AS (SELECT 1) MERGE INTO orders USING x ON true", "MERGE INTO orders"),
        ("ADD JAR 'x.jar'", "ADD"),
    ],
)
def test_all_other_statements_are_refused(shim: Any, statement: str, shown: str) -> None:
    with pytest.raises(shim.Refused):
        shim.sessions.check_statement(statement)
    assert events(shim, "refused")[0]["what"] == f"refused: the script writes by SQL: {shown}"


@pytest.mark.parametrize(
    ("statement", "refused"),
    [
        ("INSERT INTO sandbox.orders SELECT 1", False),
        ("INSERT OVERWRITE TABLE `sandbox`.`orders` SELECT 1", False),
        ("CREATE OR REPLACE TABLE sandbox.orders AS SELECT * FROM shop.orders", False),
        ("MERGE INTO sandbox.orders USING x ON true WHEN MATCHED THEN DELETE", False),
        ("INSERT INTO IDENTIFIER('sandbox.orders') SELECT 1", False),
        ("INSERT OVERWRITE DIRECTORY 's3a://test/x' USING parquet SELECT 1", False),
        ("UPDATE delta.`s3a://test/x` SET a = 1", False),
        ("INSERT INTO shop.orders SELECT * FROM sandbox.orders", True),
        ("INSERT INTO shop.orders SELECT 'sandbox.'", True),
        ("INSERT INTO IDENTIFIER(:sandbox) SELECT 1", True),
        ("INSERT OVERWRITE DIRECTORY 's3a://lake/x' USING parquet SELECT 's3a://test/'", True),
        ("INSERT OVERWRITE DIRECTORY 's3a://test/' '../lake' USING parquet SELECT 1", True),
        ("UPDATE shop.orders sandbox SET a = 1", True),
        ("FROM x INSERT INTO sandbox.a SELECT 1 INSERT INTO shop.b SELECT 2", True),
        ("CREATE TABLE sandbox.orders USING parquet LOCATION 's3a://lake/orders' AS SELECT 1", True),
        ("CREATE TABLE sandbox.orders USING jdbc OPTIONS (url 'jdbc:postgresql://prod/shop') AS SELECT 1", True),
        ("CREATE TABLE sandbox.orders USING jdbc OPTIONS ('url' = 'jdbc:postgresql://prod/shop') AS SELECT 1", True),
        ("ALTER TABLE sandbox.orders RENAME TO shop.orders", True),
        ("EXECUTE IMMEDIATE 'INSERT INTO sandbox.orders SELECT 1'", True),
    ],
)
def test_what_is_allowed_is_the_target(shim: Any, statement: str, refused: bool) -> None:
    shim.shim.config["allow"] = ["sandbox.", "s3a://test/"]
    if refused:
        with pytest.raises(shim.Refused):
            shim.sessions.check_statement(statement)
    else:
        shim.sessions.check_statement(statement)


def test_a_refusal_shows_no_text_of_the_statement(shim: Any) -> None:
    statement = "CREATE TABLE shop USING jdbc OPTIONS (password 'hidden', url 'jdbc:x://me:hidden@h/d')"
    with pytest.raises(shim.Refused) as caught:
        shim.sessions.check_statement(statement)
    assert "CREATE TABLE shop;" in str(caught.value)
    assert "hidden" not in (shim.directory / "events.jsonl").read_text() + str(caught.value)
