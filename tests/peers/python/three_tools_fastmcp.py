"""A server of three tools on the PyPI package `fastmcp`, of whichever version the interpreter has.

Usage: three_tools_fastmcp.py PORT. Serves Streamable HTTP at http://127.0.0.1:PORT/mcp until it is killed.
"""

import sys

from fastmcp import FastMCP

server = FastMCP(
    "three-tools",
    instructions="Counts words, shifts dates and converts temperatures. Nothing it does leaves this process.",
)


@server.tool()
def count_words(text: str) -> int:
    """Counts the words of a text."""
    return len(text.split())


@server.tool()
def shift_date(day: str, days: int = 1) -> str:
    """Gives the date that lies a number of days after another."""
    from datetime import date, timedelta

    return (date.fromisoformat(day) + timedelta(days=days)).isoformat()


@server.tool()
def to_fahrenheit(celsius: float) -> float:
    """Converts a temperature from degrees Celsius to degrees Fahrenheit."""
    return celsius * 9 / 5 + 32


if __name__ == "__main__":
    server.run(transport="streamable-http", host="127.0.0.1", port=int(sys.argv[1]), path="/mcp", log_level="warning")
