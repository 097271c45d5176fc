# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # root and deps are of lib/common.sh, changed is of bootstrap
# Fetches the CUDA headers and libraries that neither apt nor a toolkit has installed: NVIDIA's wheels, unpacked in .deps/cuda.
# Source it after lib/common.sh; the caller defines install_packages and is_installed.

# A header of each wheel: the wheel is fetched if the header is missing.
declare -A cuda_wheels=(
  [nvidia-cudnn-cu13]=cudnn.h
  [nvidia-cublas]=cublasLt.h
  [nvidia-nccl-cu13]=nccl.h
  [nvidia-cuda-nvrtc]=nvrtc.h
  [nvidia-cuda-runtime]=cuda_runtime_api.h
  [nvidia-cuda-crt]=crt/host_config.h
  [nvidia-cuda-cccl]=nv/target
  [nvidia-cuda-cupti]=cupti.h
  [nvidia-nvtx]=nvtx3/nvToolsExt.h
)

# Prints the folders that cmake/TroupeCudaHeaders.cmake searches before .deps/cuda.
cuda_include_folders() {
  local toolkit nvcc toolkits=()
  nvcc=$(command -v "${CUDACXX:-nvcc}" || true) # like cmake/TroupeCuda.cmake
  [ -z "$nvcc" ] || toolkits+=("$(dirname "$(dirname "$(readlink -f "$nvcc")")")")
  [ -z "${CUDA_HOME:-}" ] || toolkits+=("$CUDA_HOME")
  [ -z "${CUDA_PATH:-}" ] || toolkits+=("$CUDA_PATH")
  toolkits+=(/usr/local/cuda)
  for toolkit in "${toolkits[@]}"; do
    printf '%s\n' "$toolkit/include" "$toolkit/include/cccl" "$toolkit"/targets/*/include "$toolkit/extras/CUPTI/include"
  done
  printf '%s\n' /usr/include /usr/include/*-linux-gnu
}

cuda_has_header() {
  local folder
  while read -r folder; do
    [ ! -e "$folder/$1" ] || return 0
  done < <(cuda_include_folders)
  return 1
}

# Dies if the installed toolkit has another major version than the wheels.
cuda_check_toolkit() {
  local folder version
  while read -r folder; do
    [ -e "$folder/cuda_runtime_api.h" ] || continue
    version=$(sed -nE 's/^#define CUDART_VERSION +([0-9]+).*/\1/p' "$folder/cuda_runtime_api.h")
    [ "$((version / 1000))" = 13 ] ||
      die "the CUDA toolkit here is $((version / 1000)).$((version % 1000 / 10)), and the wheels are for CUDA 13:
  install the cuDNN, cuBLAS and NCCL packages of that toolkit's own repository instead"
    return
  done < <(cuda_include_folders)
}

# Runs pip. Installs it if Debian's python3 lacks it.
cuda_pip() {
  local python=python3
  "$python" -m pip --version >/dev/null 2>&1 || {
    is_installed python3-pip || { say "installing python3-pip"; install_packages python3-pip; } || die "could not install python3-pip"
    python=/usr/bin/python3
  }
  "$python" -m pip --disable-pip-version-check --quiet "$@"
}

cuda_wheels() {
  local requirements=$root/tools/checksums/cuda.txt downloads=$deps/downloads/cuda target=$deps/cuda stamp=$deps/cuda/installed
  local wheel wanted=() id
  for wheel in "${!cuda_wheels[@]}"; do
    cuda_has_header "${cuda_wheels[$wheel]}" || wanted+=("$wheel")
  done
  [ ${#wanted[@]} -gt 0 ] || return 0
  id=$(printf '%s\n' "${wanted[@]}" | sort | cat - "$requirements" | sha256sum)
  [ "$(cat "$stamp" 2>/dev/null)" != "$id" ] || return 0
  changed=1
  cuda_check_toolkit
  say "fetching ${#wanted[@]} of NVIDIA's wheels (up to 1.3 GB) into .deps/cuda: ${wanted[*]}"
  mkdir -p "$downloads"
  printf '%s\n' "${wanted[@]}" | sed 's/.*/^&==/' | grep -f - "$requirements" >"$downloads/wanted.txt"
  cuda_download --no-index || cuda_download ||
    die "could not fetch NVIDIA's wheels with pip (log: .deps/cuda-wheels.log).
  Without a network: put the wheels that tools/checksums/cuda.txt names into .deps/downloads/cuda."
  rm -rf "$target" "$target.new"
  mkdir -p "$target.new"
  for wheel in "$downloads"/*.whl; do python3 -m zipfile -e "$wheel" "$target.new"; done
  echo "$id" >"$target.new/installed"
  mv "$target.new" "$target"
  rm -rf "$downloads"
}

# cuda_download [OPTION]: downloads the wheels of wanted.txt and verifies their checksums.
cuda_download() {
  local downloads=$deps/downloads/cuda
  cuda_pip download --no-deps --only-binary :all: --require-hashes --find-links "$downloads" --dest "$downloads" \
    "$@" --requirement "$downloads/wanted.txt" >"$deps/cuda-wheels.log" 2>&1
}
