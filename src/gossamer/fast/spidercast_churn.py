"""Overlays under churn, with the kernel."""

from typing import Any

import numpy as np

from gossamer.core.errors import Misuse
from gossamer.fast.compile import compiled
from gossamer.fast.spidercast import KERNEL, overlay
from gossamer.protocols.spidercast.experiment.churn import COMES, Churn, Churned, Snapshot
from gossamer.protocols.spidercast.experiment.setting import InterestArrays, OverlaySetting
from gossamer.protocols.spidercast.experiment.workload import Workload
from gossamer.protocols.spidercast.kernel import columns as col
from gossamer.protocols.spidercast.kernel.arrays import RunArrays, TaskArrays, prepare
from gossamer.protocols.spidercast.params import Params


def run(workload: Workload, params: Params, churn: Churn, seed: int) -> Churned:
    """Nodes come and go as scheduled, and maintain their links round by round; snapshots on the way."""
    if params.selection == "ring" or params.rendezvous:
        raise Misuse('churn is for neighbours chosen from views: no selection = "ring", no rendezvous')
    times, who, what = churn.schedule(workload.nodes, seed)
    room = _empty(workload, params, seed)
    changes, news = _changes(workload, churn, seed, times, who, what)
    room = room._replace(net=room.net._replace(changes=changes, news=news))
    kernel = compiled(KERNEL, parallel=False)
    snapshots = []
    for at_s in churn.snapshots():
        kernel(*room, churn.rounds(at_s))
        settled = _came(times, who, what, at_s, workload.nodes) < at_s - churn.young_s
        snapshots.append(_snapshot(room, at_s, settled, workload.topics))
    kernel(*room, churn.rounds(churn.seconds))
    done = what[: int(room.net.clock[col.CHANGES])]
    joins = int((done == COMES).sum())
    messages = dict(zip(col.MESSAGES, room.net.clock[col.CONNECT :].tolist()))
    return Churned(snapshots=snapshots, joins=joins, leaves=len(done) - joins, messages=messages)


def _empty(workload: Workload, params: Params, seed: int) -> RunArrays:
    """Room for everybody, and nobody there yet."""
    n, most = workload.nodes, workload.subscriptions[1]
    topics = np.tile(np.arange(most, dtype=np.int32), n)
    everything = InterestArrays(np.arange(n + 1, dtype=np.int64) * most, topics, workload.topics)
    room = prepare(OverlaySetting(interests=everything, params=params), seed)
    room.net.rows[:, col.NEEDS :] = 0
    room.net.wants[:] = 0
    room.net.how[col.REST] = col.NEVER
    for task in (room.greedy, room.random):
        _switch_off(task)
    return room


def _switch_off(task: TaskArrays) -> None:
    task.nodes[:, col.DEGREE :] = 0
    task.nodes[:, col.WAKE] = col.NEVER


def _changes(workload: Workload, churn: Churn, seed: int, times: Any, who: Any, what: Any) -> tuple[Any, Any]:
    """The schedule as rounds, and the interests of all who come: other ones in each life."""
    order = np.lexsort((times, who))
    comes = (what == COMES)[order]
    counted = np.cumsum(comes)
    before = np.concatenate(
        [np.zeros(1, np.int64), np.cumsum(np.bincount(who, comes[np.argsort(order)], workload.nodes))]
    )
    life = np.empty(len(who), np.int64)
    life[order] = counted - before.astype(np.int64)[who[order]] - 1
    changes = np.full((len(times), 4), col.NOBODY, np.int64)
    changes[:, col.WHEN] = np.ceil(times / churn.round_s)
    changes[:, col.WHO] = who
    pools, used = [], 0
    for each in range(int(life.max(initial=-1)) + 1):
        counts, topics = workload.part(seed, 0, workload.nodes, life=each)
        ends = used + np.cumsum(counts)
        now = (life == each) & (what == COMES)
        changes[now, col.TOPICS_FROM] = (ends - counts)[who[now]]
        changes[now, col.TOPICS_TO] = ends[who[now]]
        pools.append(topics)
        used += len(topics)
    return changes, np.concatenate([np.zeros(0, np.int32), *pools])


def _came(times: Any, who: Any, what: Any, at_s: float, nodes: int) -> Any:
    """When each node came that is there at this time; never, for the others."""
    came = np.full(nodes, np.inf)
    seen = times <= at_s
    came[who[seen]] = np.where(what[seen] == COMES, times[seen], np.inf)  # in order of time: the last one counts
    return came


def _snapshot(room: RunArrays, at_s: float, included: Any, topics: int) -> Snapshot:
    whole = overlay(room, True)
    rows = room.net.rows[included]
    kept = included[whole.links].all(axis=1)
    number = np.cumsum(included) - 1
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(rows[:, col.NEEDS])])
    at = np.repeat(rows[:, col.START] - starts[:-1], rows[:, col.NEEDS]) + np.arange(starts[-1])
    return Snapshot(
        at_s=at_s,
        nodes=np.flatnonzero(included),
        interests=InterestArrays(starts, room.net.topics[at], topics),
        links=number[whole.links[kept]].astype(np.int32).reshape(-1, 2),
        kinds=whole.kinds[kept],
        one_sided=whole.one_sided,
        over_limit=whole.over_limit,
    )
