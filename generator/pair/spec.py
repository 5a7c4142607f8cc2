"""The specification of a pair: everything that its templates are told."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from generator.accelerators.catalog import Accelerator, AcceleratorKind, Service, Status, catalog
from generator.competition import builtin
from generator.competition.facts import Competition
from generator.competition.presets import Preset, preset_of
from generator.competition.schema import keys_of, task_of
from generator.errors import PairError, did_you_mean
from generator.pair.choices import Choices
from generator.pair.kernel_name import KernelName, dataset_beside, kernel_name
from generator.pair.pretrained_models import check_model, is_handle, suggested_models
from generator.pair.task_properties import TaskProperties
from generator.pair.workspace import Role
from generator.untrusted import printable


@dataclass(frozen=True)
class PairSpec(TaskProperties):
    """Everything that the templates need to know of a pair, the properties of its task among it.

    Attributes:
        pair_id: What both notebooks must agree on: the competition, the framework, and a digest of the rest.
        framework: What the notebooks are written in.
        train: The training kernel's name.
        infer: The inference kernel's name.
        competition: The competition.
        accelerator: The kind of device that training runs on, as the parameter ACCELERATOR says.
        platform: Who lends it.
        continues: Whether the training kernel has its own last output attached, to go on from there.
    """

    pair_id: str
    framework: str
    train: KernelName
    infer: KernelName
    competition: Competition
    accelerator: AcceleratorKind
    platform: Service = Service.KAGGLE
    continues: bool = False

    @property
    def is_built_in(self) -> bool:
        """True if the competition is one of the kit's own, which Kaggle does not have."""
        return builtin.find(self.competition.slug) is not None

    @property
    def inference_backend(self) -> str:
        """The framework that inference computes with: the pair's own, unless the user said otherwise."""
        return str(self.task_values.get("inference_backend") or self.framework)

    @property
    def platform_name(self) -> str:
        """The platform, as people write it."""
        return self.platform.capitalize()

    @property
    def training_accelerator(self) -> Accelerator:
        """What the training notebook asks its platform for."""
        known = catalog()
        offered = (known.training, *(each for each in known.everything if each.status is Status.OFFERED))
        return next(each for each in offered if (each.kind, each.service) == (self.accelerator, self.platform))

    @property
    def handover_dataset(self) -> str:
        """The dataset of Kaggle that carries the hand-over of a training that ran elsewhere; "" where it runs there."""
        return "" if self.platform is Service.KAGGLE else dataset_beside(self.train.ref, "-handover")

    @property
    def results(self) -> str:
        """The folder that results are copied to where a runtime keeps nothing."""
        return f"/content/drive/MyDrive/{self.train.slug}"

    @property
    def handover_mounts(self) -> list[str]:
        """Where that dataset is mounted, as of 2026 and in older sessions."""
        ref = self.handover_dataset
        return [f"datasets/{ref}", ref.partition("/")[2]] if ref else []

    @property
    def session_hours(self) -> float:
        """The hours that the platform lets the training notebook run."""
        return float(self.training_accelerator.session_hours)

    @property
    def inference_hours(self) -> float:
        """The hours that the inference notebook may run: the competition's limit, else that of a session."""
        session = float(catalog().inference.session_hours)
        return min(session, float(self.competition.inference_hours or session))

    @property
    def preset(self) -> Preset | None:
        """The pretrained model of texts to start from; None if the user named none."""
        return preset_of(self.family, str(self.task_values.get("pretrained", "")))

    def check_model(self) -> None:
        """Makes sure that the pretrained model that the user named, if any, can be attached and read.

        Raises:
            PairError: It cannot be a Kaggle Model; it is one of texts that the framework does not read; or these images
                are no photographs.
        """
        handle = self.handle
        if handle and not is_handle(handle):
            suggested = suggested_models(self.family, self.framework)
            names = f"{', '.join(suggested)}, or " if suggested else ""
            raise PairError(
                f'pretrained is "{printable(handle)}", which is no Kaggle Model: it takes {names}'
                "owner/model/framework/variation/version, such as keras/bert/keras/bert_small_en_uncased/3."
                f"{did_you_mean(handle, suggested)}"
            )
        check_model(self.preset, family=self.family, framework=self.framework)
        if handle and "image_size" in self.task.details and not self.has_backbone:
            raise PairError(
                f'pretrained is "{printable(handle)}", and these images are learned from scratch: only photographs '
                "have a backbone. Set channels = 3 and image_size = 96 or more as well, or leave pretrained out."
            )

    @property
    def handle(self) -> str:
        """The Kaggle Model that notebooks have attached: the pretrained one; "" if the user named none."""
        return self.preset.handle if self.preset else str(self.task_values.get("pretrained", ""))

    def kernel(self, role: Role) -> KernelName:
        """The name of one of the two kernels."""
        return self.train if role is Role.TRAIN else self.infer


def spec_of(choices: Choices) -> PairSpec:
    """Makes the specification of a pair from a complete set of choices.

    Raises:
        KeyError: The choices are not complete, see `generator.pair.choices.completed`.
    """
    chosen: dict[str, Any] = {key: choice.value for key, choice in choices.pair.items()}
    competition = Competition(
        slug=chosen["competition"],
        title=chosen["title"],
        is_code_competition=chosen["code_competition"],
        inference_hours=chosen.get("inference_hours"),
        internet=chosen.get("internet"),
    )
    keys = keys_of(chosen["family"])
    values: dict[str, Any] = {
        key: choices.task[key].value if key in choices.task or rule.default is None else rule.default
        for key, rule in keys.items()
    }
    evidence = {key: choice.evidence for key, choice in choices.task.items() if choice.evidence}
    evidence["family"] = choices.pair["family"].evidence
    shared = {key: values[key] for key, rule in keys.items() if not rule.scope}
    return PairSpec(
        pair_id=_pair_id(chosen, shared),
        framework=chosen["framework"],
        train=kernel_name(chosen, Role.TRAIN),
        infer=kernel_name(chosen, Role.INFER),
        competition=competition,
        task=task_of(chosen["family"], values, evidence),
        accelerator=_accelerator(choices),
        platform=_platform(str(chosen.get("platform", Service.KAGGLE))),
        continues=chosen.get("continues") is True,
    )


def _accelerator(choices: Choices) -> AcceleratorKind:
    said = choices.parameters.get("ACCELERATOR")
    if said is None:
        return catalog().training.kind
    try:
        return AcceleratorKind(str(said.value))
    except ValueError:
        value, known = str(said.value), ", ".join(f'"{kind}"' for kind in AcceleratorKind)
        nearest = did_you_mean(value, AcceleratorKind)
        raise PairError(f'ACCELERATOR is "{printable(value)}", and notebooks know {known}.{nearest}') from None


def _platform(name: str) -> Service:
    if name not in (Service.KAGGLE, Service.COLAB):
        known = [str(Service.KAGGLE), str(Service.COLAB)]
        nearest = did_you_mean(name, known)
        raise PairError(f'The platform is "{printable(name)}", and training runs on {" or ".join(known)}.{nearest}')
    return Service(name)


def _pair_id(chosen: dict[str, Any], task: dict[str, Any]) -> str:
    shared = {
        "competition": chosen["competition"],
        "family": chosen["family"],
        "framework": chosen["framework"],
        **task,
    }
    digest = hashlib.sha256(json.dumps(shared, sort_keys=True).encode()).hexdigest()[:8]
    return f"{chosen['competition']}-{chosen['framework']}-{digest}"
