"""Running of planned scenarios: on the cores of this machine, in shards, and on clusters."""

from typing import TYPE_CHECKING

from vazao import lazy

if TYPE_CHECKING:
    from vazao.execution import simulation as simulation
    from vazao.execution.cluster import Cluster as Cluster, On as On, cluster_of as cluster_of
    from vazao.execution.consent import CodeRequest as CodeRequest
    from vazao.execution.missing import Progress as Progress, Silent as Silent, run_missing as run_missing
    from vazao.execution.shard import WHOLE as WHOLE, Shard as Shard
    from vazao.execution.simulation import reject_unapproved_code as reject_unapproved_code, run_many as run_many
else:
    __getattr__, __dir__ = lazy.attached(__name__)
