"""Random sequences of operations on queues and jobs, each in a world of its own: a namespace and names with its number.

A sequence is a list of steps in the words of the scenario player (test/scenarios/player); the first makes its queues. What
happens must not depend on chance: at most one creation a step, no Job of the same priority where something may be preempted.
"""

import random

KUEUE = "kueue.x-k8s.io/v1beta2"
FLAVORS, QUEUES = 2, 3


def name_of(number):
    return f"s{number:03}"


def generate(seed, number, length):
    return Sequence(random.Random(f"{seed}/{number}"), name_of(number), length).steps


class Sequence:
    def __init__(self, dice, name, length):
        self.dice, self.name = dice, name
        self.ranked = dice.random() < 0.6  # every Job has a priority of its own, and queues preempt
        self.flavors = [f"{name}-f{n}" for n in range(dice.choice([1, 1, 2]))]
        self.queues = [f"{name}-q{n}" for n in range(dice.randint(1, QUEUES))]
        self.cohorts = [f"{name}-co{n}" for n in range(dice.randint(0, 2))]
        self.locals = {f"l{n}": queue for n, queue in enumerate(self.queues)}
        if dice.random() < 0.3:
            self.locals["default"] = self.queues[0]
        self.gone = set()  # LocalQueues that were deleted
        self.jobs, self.made = [], 0
        self.priorities = list(range(1, length + 1))
        dice.shuffle(self.priorities)
        self.steps = [{"create": self._world(length)}]
        while len(self.steps) < length:
            step = self._operation()
            if step:
                self.steps.append(step)

    # ---- the world

    def _world(self, length):
        made = [{"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": name}, "spec": {}} for name in self.flavors]
        made += [{"apiVersion": KUEUE, "kind": "WorkloadPriorityClass", "metadata": {"name": f"{self.name}-p{n}"}, "value": n * 10,
                  "description": "of a sequence"} for n in range(1, length + 1)] if self.ranked else []
        made += [self._cohort(n, name) for n, name in enumerate(self.cohorts) if self.dice.random() < 0.7]
        made += [self._cluster_queue(name) for name in self.queues]
        made += [self._local_queue(name) for name in self.locals]
        return made

    def _cohort(self, number, name):
        spec = {}
        if number and self.dice.random() < 0.6:
            spec["parentName"] = self.cohorts[0]
        if self.dice.random() < 0.4:
            spec["resourceGroups"] = self._groups(limits=False)
        return {"apiVersion": KUEUE, "kind": "Cohort", "metadata": {"name": name}, "spec": spec}

    def _groups(self, limits):
        flavors = []
        for name in self.flavors:
            cpu = {"name": "cpu", "nominalQuota": self._cpu(6)}
            if limits and self.dice.random() < 0.3:
                cpu["borrowingLimit"] = self._cpu(4)
            if limits and self.dice.random() < 0.3:
                cpu["lendingLimit"] = self._cpu(int(cpu["nominalQuota"].rstrip("m")) if "m" not in cpu["nominalQuota"] else 1)
            flavors.append({"name": name, "resources": [cpu]})
        return [{"coveredResources": ["cpu"], "flavors": flavors}]

    def _cpu(self, most):
        return self.dice.choice([str(self.dice.randint(0, most)), str(self.dice.randint(0, most)), f"{self.dice.randint(1, most or 1)}500m"])

    def _cluster_queue(self, name):
        spec = {"namespaceSelector": {}, "queueingStrategy": self.dice.choice(["BestEffortFIFO", "BestEffortFIFO", "StrictFIFO"])}
        if self.cohorts and self.dice.random() < 0.8:
            spec["cohortName"] = self.dice.choice(self.cohorts)
        spec["resourceGroups"] = self._groups(limits="cohortName" in spec)
        if self.ranked:
            spec["preemption"] = {"withinClusterQueue": self.dice.choice(["Never", "LowerPriority", "LowerPriority", "LowerOrNewerEqualPriority"]),
                                  "reclaimWithinCohort": self.dice.choice(["Never", "LowerPriority", "Any", "Any"])}
            if spec["preemption"]["reclaimWithinCohort"] != "Never" and self.dice.random() < 0.3:
                spec["preemption"]["borrowWithinCohort"] = {"policy": "LowerPriority", "maxPriorityThreshold": self.dice.choice([30, 60])}
        if len(self.flavors) > 1 and self.dice.random() < 0.6:
            spec["flavorFungibility"] = {"whenCanBorrow": self.dice.choice(["MayStopSearch", "TryNextFlavor"]),
                                         "whenCanPreempt": self.dice.choice(["MayStopSearch", "TryNextFlavor"])}
        if self.dice.random() < 0.15:
            spec["namespaceSelector"] = {"matchLabels": {"kubernetes.io/metadata.name": self.dice.choice([self.name, "elsewhere"])}}
        return {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": spec}

    def _local_queue(self, name):
        return {"apiVersion": KUEUE, "kind": "LocalQueue", "metadata": {"name": name, "namespace": self.name},
                "spec": {"clusterQueue": self.locals[name]}}

    # ---- operations

    def _operation(self):
        operations = [(7, self._create_job), (2, self._delete_job), (4, self._finish_job), (1, self._fail_job), (2, self._change_quota),
                      (2, self._stop_queue), (1, self._stop_local_queue), (2, self._deactivate), (1, self._move_job),
                      (1, self._delete_or_make_local_queue), (1, self._resize_job), (1, self._change_cohort), (1, self._refused),
                      (1, self._read), (1, self._delete_cluster_queue), (1, self._change_priority)]
        weights, choices = zip(*operations)
        return self.dice.choices(choices, weights)[0]()

    def _create_job(self):
        name, self.made = f"j{self.made}", self.made + 1
        self.jobs.append(name)
        count = self.dice.choice([1, 1, 2, 3])
        labels = {}
        if self.dice.random() < 0.95:
            labels["kueue.x-k8s.io/queue-name"] = self.dice.choice([*self.locals, *self.locals, "absent"] if self.dice.random() < 0.2 else list(self.locals))
        if self.ranked:
            labels["kueue.x-k8s.io/priority-class"] = f"{self.name}-p{self.priorities.pop()}"
        annotations = {"kueue.x-k8s.io/job-min-parallelism": "1"} if count > 1 and self.dice.random() < 0.3 else {}
        cpu = self.dice.choice(["1", "1", "2", "500m", "3"])
        return {"create": [{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": self.name, "labels": labels, "annotations": annotations},
                            "spec": {"parallelism": count, "completions": count, "backoffLimit": 0, "suspend": self.dice.random() < 0.7,
                                     "template": {"spec": {"restartPolicy": "Never", "containers": [
                                         {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}]}}}}]}

    def _job(self):
        return self.dice.choice(self.jobs[-5:]) if self.jobs else None

    def _delete_job(self):
        name = self._job()
        if name:
            self.jobs.remove(name)
            return {"delete": [{"kind": "Job", "name": name, "namespace": self.name}]}

    def _finish_job(self):
        name = self._job()
        return name and {"finishPods": [{"namespace": self.name, "selector": {"job-name": name}}]}

    def _fail_job(self):
        name = self._job()
        return name and {"failPods": [{"namespace": self.name, "selector": {"job-name": name}, "count": 1}]}

    def _patch(self, kind, name, body, kind_of_patch="merge"):
        return {"patch": [{"object": {"kind": kind, "name": name, "namespace": self.name}, "type": kind_of_patch, "body": body}]}

    def _change_quota(self):
        path = "/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota"
        return self._patch("ClusterQueue", self.dice.choice(self.queues), [{"op": "replace", "path": path, "value": self._cpu(6)}], "json")

    def _stop_queue(self):
        return self._patch("ClusterQueue", self.dice.choice(self.queues),
                           {"spec": {"stopPolicy": self.dice.choice(["None", "None", "Hold", "HoldAndDrain"])}})

    def _stop_local_queue(self):
        return self._patch("LocalQueue", self.dice.choice(list(self.locals)),
                           {"spec": {"stopPolicy": self.dice.choice(["None", "None", "Hold", "HoldAndDrain"])}})

    def _deactivate(self):
        name = self._job()
        if name:
            return {"patch": [{"object": {"workloadOf": f"Job/{name}", "namespace": self.name}, "body": {"spec": {"active": self.dice.random() < 0.5}}}]}

    def _move_job(self):
        name = self._job()
        return name and self._patch("Job", name, {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": self.dice.choice(list(self.locals))}}})

    def _delete_or_make_local_queue(self):
        name = self.dice.choice(list(self.locals))
        if name in self.gone:
            self.gone.remove(name)
            return {"create": [self._local_queue(name)]}
        self.gone.add(name)
        return {"delete": [{"kind": "LocalQueue", "name": name, "namespace": self.name}]}

    def _resize_job(self):
        name = self._job()
        return name and self._patch("Job", name, {"spec": {"parallelism": self.dice.randint(1, 3)}})

    def _change_cohort(self):
        return self._patch("ClusterQueue", self.dice.choice(self.queues), {"spec": {"cohortName": self.dice.choice([None, *self.cohorts])}})

    def _refused(self):
        queue = self._cluster_queue(f"{self.name}-bad")
        cpu = queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]
        self.dice.choice([
            lambda: cpu.update(nominalQuota="-1"), lambda: cpu.update(nominalQuota="1", lendingLimit="2"), lambda: cpu.update(name="memory"),
            lambda: queue["spec"].update(queueingStrategy="Fair"), lambda: queue["spec"].update(cohortName="_"),
            lambda: queue["spec"]["resourceGroups"].append(queue["spec"]["resourceGroups"][0]), lambda: queue["spec"].update(nonsense=1)])()
        return {"create": [queue]}

    def _read(self):
        kind, name = self.dice.choice([("ClusterQueue", self.dice.choice(self.queues)), ("LocalQueue", self.dice.choice(list(self.locals)))])
        return {"read": [{"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": kind, "name": name, "namespace": self.name}]}

    def _delete_cluster_queue(self):
        if len(self.queues) > 1 and self.dice.random() < 0.5:
            return {"delete": [{"kind": "ClusterQueue", "name": self.dice.choice(self.queues)}]}

    def _change_priority(self):
        name = self._job()
        if name and self.ranked and self.priorities:
            return self._patch("Job", name, {"metadata": {"labels": {"kueue.x-k8s.io/priority-class": f"{self.name}-p{self.priorities.pop()}"}}})
