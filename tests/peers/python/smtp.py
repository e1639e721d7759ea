"""A mail server on the PyPI package `aiosmtpd`; each mail becomes a file.

Usage: smtp.py PORT CERTIFICATE KEY DIRECTORY USER PASSWORD [TLS]. TLS is `starttls` (which, like AUTH, is then required;
the default), `implicit` (from the first byte, AUTH required) or `none` (no TLS, no AUTH: a relay on this host). Mail is written to DIRECTORY/NNNN.eml, whole or not at
all; the envelope stands before it as `X-Envelope-From` and `X-Envelope-To`. Numbers go on after those already there.
"""

import asyncio
import os
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult


class Files:
    """Writes each mail to a file of its own."""

    def __init__(self, directory):
        self.directory = directory
        self.count = sum(1 for name in os.listdir(directory) if name.endswith(".eml"))

    async def handle_DATA(self, server, session, envelope):
        self.count += 1
        path = os.path.join(self.directory, f"{self.count:04}.eml")
        with open(path + ".part", "wb") as file:
            file.write(f"X-Envelope-From: {envelope.mail_from}\r\n".encode())
            file.write(f"X-Envelope-To: {', '.join(envelope.rcpt_tos)}\r\n".encode())
            file.write(envelope.content)
        os.rename(path + ".part", path)
        return "250 kept"


async def main():
    port, certificate, key, directory, user, password = sys.argv[1:7]
    tls = sys.argv[7] if len(sys.argv) > 7 else "starttls"
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    files = Files(directory)

    def authenticate(server, session, envelope, mechanism, data):
        valid = (data.login, data.password) == (user.encode(), password.encode())
        return AuthResult(success=valid, handled=valid)

    options = {
        "starttls": {"tls_context": context, "require_starttls": True, "auth_required": True, "auth_require_tls": True},
        "implicit": {"auth_required": True, "auth_require_tls": False},
        "none": {"auth_require_tls": False},
    }[tls]

    def new_session():
        return SMTP(files, hostname="mail.test", authenticator=authenticate, **options)

    outer = context if tls == "implicit" else None
    server = await asyncio.get_running_loop().create_server(new_session, "127.0.0.1", int(port), ssl=outer)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
