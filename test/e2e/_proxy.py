"""A proxy between a manager and the API server that misbehaves on demand.

It ends TLS on both sides, so that it sees where requests begin and end: it can lose answers to requests that were carried
out, and send a request twice, as a network between two machines may. Threads; every mode may be changed at any time.
"""

import collections
import contextlib
import socket
import ssl
import threading

MODES = ("pass", "cut", "hold", "delay", "lose", "repeat")
DELAY_S = 0.15


class Proxy:
    """Listens on loopback at `port`. server_context: the certificate to show; upstream: address and context to connect with."""

    def __init__(self, server_context, upstream, upstream_context):
        # One thread reads a connection while another writes it. With TLS 1.3 a session ticket may come in between, and OpenSSL's
        # writer then waits for the rest of a handshake that the reader has already had: for ever.
        server_context.maximum_version = upstream_context.maximum_version = ssl.TLSVersion.TLSv1_2
        self.server_context, self.upstream, self.upstream_context = server_context, upstream, upstream_context
        self.mode, self.repeated, self.lost = "pass", 0, 0
        self.pairs, self.lock, self.closed = set(), threading.Lock(), False
        self.changed = threading.Condition()  # of mode and closed
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self._start(self._accept)

    def set(self, mode):
        """cut: every connection is reset and none is made; hold: nothing moves, nothing is closed; delay: each read waits;
        lose: requests arrive, answers do not; repeat: each request is sent a second time over another connection."""
        assert mode in MODES
        with self.changed:
            self.mode = mode
            self.changed.notify_all()
        if mode in ("cut", "pass"):  # after a hold, what was held back is lost with its connection
            with self.lock:
                pairs = list(self.pairs) if mode == "cut" else [p for p in self.pairs if p.broken]
            for pair in pairs:
                pair.close()

    def close(self):
        with self.changed:
            self.closed = True
            self.changed.notify_all()
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        with self.lock:
            pairs = list(self.pairs)
        for pair in pairs:
            pair.close()

    @staticmethod
    def _start(function, *arguments):
        threading.Thread(target=function, args=arguments, daemon=True).start()

    def _accept(self):
        while not self.closed:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            if self.mode == "cut":
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                connection.close()
                continue
            self._start(self._serve, connection)

    def _serve(self, connection):
        try:
            connection.settimeout(20)
            client = self.server_context.wrap_socket(connection, server_side=True)
            server = self.connect()
        except OSError:
            connection.close()
            return
        client.settimeout(None)
        pair = Pair(self, client, server)
        with self.lock:
            self.pairs.add(pair)
        self._start(pair.answers)
        pair.requests()
        with self.lock:
            self.pairs.discard(pair)

    def connect(self):
        plain = socket.create_connection(self.upstream, 20)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        wrapped = self.upstream_context.wrap_socket(plain, server_hostname=self.upstream[0])
        wrapped.settimeout(None)
        return wrapped

    def send_again(self, request, answered):
        """Over a connection of its own, once the first is answered; its own answer is read and thrown away."""
        if not answered.wait(20):
            return
        with contextlib.suppress(OSError), self.connect() as connection:
            connection.settimeout(2)
            connection.sendall(request)
            self.repeated += 1
            while connection.recv(65536):
                pass


class Pair:
    """One connection of the manager and its twin to the server."""

    def __init__(self, proxy, client, server):
        self.proxy, self.client, self.server, self.broken = proxy, client, server, False
        self.unanswered = collections.deque()  # an event for each request to be sent again once it is answered

    def close(self):
        for connection in (self.client, self.server):
            with contextlib.suppress(OSError):
                socket.socket.shutdown(connection, socket.SHUT_RDWR)
        self._answered()

    def _answered(self):
        with contextlib.suppress(IndexError):
            while True:
                self.unanswered.popleft().set()

    def _wait(self):
        """Until something may move; False when the connection is to end."""
        proxy = self.proxy
        with proxy.changed:
            if proxy.mode == "delay":
                proxy.changed.wait_for(lambda: proxy.closed or proxy.mode != "delay", DELAY_S)
            if proxy.mode == "hold":
                self.broken = True
                proxy.changed.wait_for(lambda: proxy.closed or proxy.mode != "hold")
            return not self.broken and proxy.mode != "cut"

    def requests(self):
        held = b""
        with contextlib.suppress(OSError, ValueError):
            while True:
                piece = self.client.recv(65536)
                if not piece or not self._wait():
                    break
                held = self._repeat(held + piece)
                self.server.sendall(piece)
        self.close()

    def _repeat(self, held):
        """Takes whole requests off the front; those that write are sent again in that mode."""
        while (end := held.find(b"\r\n\r\n")) >= 0:
            head = held[:end].decode("latin-1").lower()
            length = next((int(l.split(":")[1]) for l in head.split("\r\n") if l.startswith("content-length:")), 0)
            if len(held) < end + 4 + length:
                return held
            request, held = held[:end + 4 + length], held[end + 4 + length:]
            if self.proxy.mode == "repeat" and not head.startswith("get "):
                answered = threading.Event()
                self.unanswered.append(answered)
                Proxy._start(self.proxy.send_again, request, answered)
        return held

    def answers(self):
        with contextlib.suppress(OSError, ValueError):
            while True:
                piece = self.server.recv(65536)
                if not piece or not self._wait():
                    break
                if self.proxy.mode == "lose":
                    self.proxy.lost += 1
                    break
                self.client.sendall(piece)
                self._answered()
        self.close()


def server_context(certificate, key):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context
