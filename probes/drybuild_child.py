"""One rank of a dry build. Runs in vLLM's interpreter, never in ours; speaks JSON on standard output.

The model is built on PyTorch's meta device, which takes no memory, and vLLM's own code plans the cache. It was written
against vLLM 0.32.0 (`v1/core/kv_cache_utils.py`, `v1/worker/gpu_model_runner.py`); what a later version changes shows
as an error in words, never as a number.
"""

import importlib
import json
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

#: A torchvision in which every module and every attribute exists and does nothing.
STAND_IN = """
import importlib.abc, importlib.machinery, sys, types

class _Anything(type):
    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything(name, (), {})

def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return _Anything(name, (), {})

class _Below(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, fullname, path, target=None):
        if fullname.startswith("torchvision."):
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        module.__getattr__ = __getattr__
        return module

    def exec_module(self, module):
        pass

__version__ = "0.99"
sys.meta_path.insert(0, _Below())
"""


def main() -> None:
    """Build what the request on the command line asks for and print one JSON object."""
    request = json.loads(sys.argv[1])
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # vLLM and its libraries print; standard output is kept for the answer
    try:
        answer = _build(request)
    except BaseException as error:  # whatever a foreign library raises is an answer too
        answer = {"error": f"{type(error).__name__}: {' '.join(str(error).split())[:600]}"}
        import traceback

        traceback.print_exc()
    print(json.dumps(answer), file=answers, flush=True)
    os._exit(0)  # threads of the libraries may wait for ever


def _build(request: dict[str, Any]) -> dict[str, Any]:
    if request["multimodal"]:
        _stand_in_for_torchvision()
    torch: Any = importlib.import_module("torch")
    if request["expert_parallel"]:
        # A log line spells the map of experts out, which a tensor without data cannot be.
        name = "vllm.model_executor.layers.fused_moe.expert_map_manager"
        manager: Any = importlib.import_module(name).ExpertMapManager
        manager.get_compressed_map_string = lambda _: ""
    if request["any_kernel"]:
        _without_kernels()
    arg_utils: Any = importlib.import_module("vllm.engine.arg_utils")
    config_module: Any = importlib.import_module("vllm.config")
    parallel_state: Any = importlib.import_module("vllm.distributed.parallel_state")
    platforms: Any = importlib.import_module("vllm.platforms")
    loader: Any = importlib.import_module("vllm.model_executor.model_loader.utils")

    # Ranks that disagree on this name talk through sockets and leave no shared memory behind.
    os.environ["VLLM_DIST_IDENT"] = f"dry-{request['rank']}"
    world = request["tensor_parallel"] * request["pipeline_parallel"]
    arguments: dict[str, Any] = {
        "model": request["folder"],
        "load_format": "dummy",
        "skip_tokenizer_init": True,
        "enforce_eager": True,
        "max_model_len": request["context"],
        "max_num_batched_tokens": request["max_num_batched_tokens"],
        "max_num_seqs": request["max_num_seqs"],
        "tensor_parallel_size": request["tensor_parallel"],
        "pipeline_parallel_size": request["pipeline_parallel"],
        "enable_expert_parallel": request["expert_parallel"],
        "kv_cache_dtype": request["kv_cache_dtype"],
        "disable_log_stats": True,
    }
    if request["block_size"] is not None:
        arguments["block_size"] = request["block_size"]
    if request["ignore_quantization"]:
        arguments["hf_overrides"] = _without_quantization
    if world > 1:
        arguments["distributed_executor_backend"] = "mp"
    vllm_config = arg_utils.EngineArgs(**arguments).create_engine_config()
    # The queue between ranks would be shared memory of 160 MB that nobody reads here.
    queue: Any = importlib.import_module("vllm.distributed.device_communicators.shm_broadcast").MessageQueue
    queue.create_from_process_group = staticmethod(lambda *_, **__: None)
    with config_module.set_current_vllm_config(vllm_config):
        parallel_state.init_distributed_environment(
            world_size=world,
            rank=request["rank"],
            distributed_init_method=request["rendezvous"],
            local_rank=request["rank"],
            backend="gloo",
        )
        parallel_state.initialize_model_parallel(
            request["tensor_parallel"], request["pipeline_parallel"], backend="gloo"
        )
        dtype = torch.get_default_dtype()
        torch.set_default_dtype(vllm_config.model_config.dtype)
        try:
            with torch.device("meta"):
                model = loader.initialize_model(vllm_config)
        finally:
            torch.set_default_dtype(dtype)
        platforms.current_platform.update_block_size_for_backend(vllm_config)
        specs = _specs(vllm_config)
        everyone: list[Any] = [None] * world
        weights = {"parameters": _elements(model), "weight_bytes": _bytes(model)}
        mine = (specs, weights, _layouts(vllm_config))
        if world > 1:
            torch.distributed.all_gather_object(everyone, mine)
        else:
            everyone = [mine]
        if request["rank"] != 0:
            return {"rank": request["rank"]}
        return _plan(vllm_config, everyone, request)


def _without_quantization(config: Any) -> Any:
    for part in (config, getattr(config, "text_config", None)):
        for name in ("quantization_config", "compression_config"):
            if part is not None and hasattr(part, name):
                delattr(part, name)
    return config


def _stand_in_for_torchvision() -> None:
    """Multimodal families import torchvision to look at pictures; a dry build looks at none.

    vLLM looks at a model's class in a process of its own, so the stand-in is a folder that children find too.
    """
    try:
        importlib.import_module("torchvision")
    except Exception:
        for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
            del sys.modules[name]
        place = Path(tempfile.mkdtemp())  # below the private TMPDIR of this child
        for part, text in (
            ("torchvision/__init__.py", STAND_IN),
            ("torchvision-0.99.dist-info/METADATA", "Metadata-Version: 2.1\nName: torchvision\nVersion: 0.99\n"),
        ):
            (place / part).parent.mkdir()
            (place / part).write_text(text)
        sys.path.insert(0, str(place))
        os.environ["PYTHONPATH"] = str(place)
        importlib.invalidate_caches()


def _without_kernels() -> None:
    """Let every weight format build that this machine has no kernel for: shapes do not depend on which one computes.

    Only formats whose kernels lay weights out anew after loading may differ on the machine that has them.
    """
    mock: Any = importlib.import_module("unittest.mock").MagicMock
    folder = "vllm.model_executor.layers.quantization"
    oracle = "vllm.model_executor.layers.fused_moe.oracle"
    for name in ("fp8", "modelopt", "mxfp4", "compressed_tensors.compressed_tensors"):
        module: Any = importlib.import_module(f"{folder}.{name}")
        for attribute in dir(module):
            if attribute.startswith("init_") and attribute.endswith("_linear_kernel"):
                setattr(module, attribute, lambda *_, **__: mock())
    for file, function, backend, choice in (
        ("fp8", "select_fp8_moe_backend", "Fp8MoeBackend", "TRITON"),
        ("nvfp4", "select_nvfp4_moe_backend", "NvFp4MoeBackend", "MARLIN"),
        ("mxfp4", "select_mxfp4_moe_backend", "Mxfp4MoeBackend", "MARLIN"),
    ):
        chosen: Any = getattr(importlib.import_module(f"{oracle}.{file}"), backend)[choice]
        for name in ("fp8", "modelopt", "mxfp4"):
            module = importlib.import_module(f"{folder}.{name}")
            if hasattr(module, function):
                setattr(module, function, lambda *_, chosen=chosen, **__: (chosen, mock()))


def _specs(vllm_config: Any) -> dict[str, Any]:
    """The cache specification of every layer that keeps one, as the model runner collects them."""
    base: Any = importlib.import_module("vllm.model_executor.layers.attention_layer_base").AttentionLayerBase
    interface: Any = importlib.import_module("vllm.v1.kv_cache_interface")
    customize: Any = importlib.import_module("vllm.v1.worker.utils").customize_attention_spec
    layers = importlib.import_module("vllm.config").get_layers_from_vllm_config(vllm_config, base)
    specs = {}
    for name, layer in layers.items():
        if getattr(layer, "kv_sharing_target_layer_name", None):
            continue  # it reads another layer's cache
        spec = layer.get_kv_cache_spec(vllm_config)
        if spec is None:
            continue
        if isinstance(spec, interface.AttentionSpec):
            spec = customize(layer.get_attn_backend(), spec)
        specs[name] = spec
    return specs


def _layouts(vllm_config: Any) -> list[str]:
    utils: Any = importlib.import_module("vllm.v1.attention.backends.utils")
    base: Any = importlib.import_module("vllm.model_executor.layers.attention_layer_base").AttentionLayerBase
    layers = importlib.import_module("vllm.config").get_layers_from_vllm_config(vllm_config, base)
    backends = list({layer.get_attn_backend(): None for layer in layers.values()})
    return [
        layout if isinstance(layout, str) else layout.name for layout in utils.get_supported_kv_cache_layouts(backends)
    ]


def _plan(vllm_config: Any, everyone: list[Any], request: dict[str, Any]) -> dict[str, Any]:
    planner: Any = importlib.import_module("vllm.v1.core.kv_cache_utils")
    utils: Any = importlib.import_module("vllm.v1.attention.backends.utils")
    every_spec = [specs for specs, _, _ in everyone]
    flat = [spec for specs in every_spec for spec in specs.values()]
    utils.resolve_kv_cache_layout(vllm_config, [layouts for _, _, layouts in everyone], flat)
    merged = {name: spec for specs in every_spec for name, spec in specs.items()}
    groups = planner.get_kv_cache_groups(vllm_config, dict(merged))
    answer: dict[str, Any] = {
        "version": importlib.import_module("vllm").__version__,
        "platform": str(importlib.import_module("vllm.platforms").current_platform.device_type),
        "ranks": [weights for _, weights, _ in everyone],
        "kv_bytes_per_request": [
            planner._max_memory_usage_bytes_from_groups(
                vllm_config, planner._project_kv_cache_groups_to_worker(groups, specs)
            )
            for specs in every_spec
        ],
        "bytes_per_block": [
            planner._pool_bytes_per_block(vllm_config, planner._project_kv_cache_groups_to_worker(groups, specs))
            for specs in every_spec
        ],
        "groups": [_group(vllm_config, group) for group in groups],
        "layers": dict(Counter(_described(spec) for spec in merged.values())),
        "block_size": vllm_config.cache_config.block_size,
        "batches_in_flight": vllm_config.max_concurrent_batches,
        "layout": vllm_config.cache_config.kv_cache_layout,
        "kv_cache_dtype": vllm_config.cache_config.cache_dtype,
        "max_concurrency": None,
        "refusal": None,
    }
    if request["available_bytes"] is not None:
        try:
            plans = planner.get_kv_cache_configs(vllm_config, every_spec, [request["available_bytes"]] * len(everyone))
            whole = planner.generate_scheduler_kv_cache_config(plans)
            answer["max_concurrency"] = planner.get_max_concurrency_for_kv_cache_config(vllm_config, whole)
        except ValueError as error:
            answer["refusal"] = str(error)
    return answer


def _group(vllm_config: Any, group: Any) -> dict[str, Any]:
    spec = group.kv_cache_spec
    return {
        "layers": len(group.layer_names),
        "spec": type(spec).__name__,
        "block_size": spec.block_size,
        "page": spec.page_size_bytes,
        "blocks_per_request": -(-spec.max_memory_usage_bytes(vllm_config) // spec.page_size_bytes),
    }


def _described(spec: Any) -> str:
    text = f"{type(spec).__name__} bs={spec.block_size} page={spec.page_size_bytes}"
    window = getattr(spec, "sliding_window", None) or getattr(spec, "attention_chunk_size", None)
    return f"{text} win={window}" if window else text


def _tensors(model: Any) -> list[Any]:
    return list({id(tensor): tensor for tensor in model.parameters()}.values())


def _elements(model: Any) -> int:
    return sum(int(tensor.numel()) for tensor in _tensors(model))


def _bytes(model: Any) -> int:
    return sum(int(tensor.numel()) * int(tensor.element_size()) for tensor in _tensors(model))


if __name__ == "__main__":
    main()
