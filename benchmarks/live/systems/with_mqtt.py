"""paho through mosquitto, QoS 0. The publisher waits for the last of each burst to be written."""

import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from threading import Event
from typing import Any

from paho.mqtt.client import Client, MQTTMessage
from paho.mqtt.enums import CallbackAPIVersion

from benchmarks.live.systems import program
from benchmarks.live.systems.system import Broker, Net, System
from benchmarks.live.traffic import Reader

TOPIC = "bench"
PATIENCE_S = 30.0
SETTINGS = """\
listener {port} 127.0.0.1
allow_anonymous true
persistence false
set_tcp_nodelay true
max_queued_messages 0
max_queued_bytes 0
log_dest stderr
log_type error
log_type warning
log_type information
"""


class Paho:
    def __init__(self, client: Client) -> None:
        self.client = client

    async def send(self, bodies: Sequence[bytes]) -> None:
        publish = self.client.publish
        for body in bodies:
            under_way = publish(TOPIC, body)
        under_way.wait_for_publish(PATIENCE_S)

    def counters(self) -> dict[str, int]:
        return {}


class Mqtt(System):
    def broker(self, net: Net) -> Broker:
        settings = net.place / "mosquitto.conf"
        settings.write_text(SETTINGS.format(port=net.ports[0]))
        return Broker([program("mosquitto") or "mosquitto", "-c", str(settings)], ready="running")

    @asynccontextmanager
    async def publisher(self, net: Net) -> AsyncIterator[Paho]:
        client = made()
        connected = Event()
        client.on_connect = lambda *told: connected.set()
        client.connect("127.0.0.1", net.ports[0])
        client.loop_start()
        connected.wait(PATIENCE_S)
        try:
            yield Paho(client)
        finally:
            client.disconnect()
            client.loop_stop()

    def subscribe(self, net: Net, index: int, reader: Reader) -> None:
        client = made()
        take = reader.take

        def on_message(client: Client, userdata: Any, message: MQTTMessage) -> None:
            take(message.payload)

        def on_connect(*told: Any) -> None:
            client.subscribe(TOPIC)

        client.on_connect = on_connect
        client.on_subscribe = lambda *told: reader.ready()
        client.on_message = on_message
        client.connect("127.0.0.1", net.ports[0])
        client.loop_forever()


def made() -> Client:
    client = Client(CallbackAPIVersion.VERSION2)
    client.max_queued_messages_set(0)
    client.on_socket_open = lambda client, userdata, link: link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return client
