# One image for schedulers, workers and clients: docs/guide/deploy.md.
ARG PYTHON=3.13

FROM python:${PYTHON}-slim AS build
# Extras that data and networks need, with commas between.
ARG EXTRAS=hdfs
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY daskdl daskdl
COPY bridge bridge
RUN python -m venv /opt/daskdl \
    && /opt/daskdl/bin/pip install --no-cache-dir ".[${EXTRAS}]"

FROM python:${PYTHON}-slim
COPY --from=build /opt/daskdl /opt/daskdl
# A number, so that Kubernetes can see that it is not root's. Compiled kernels are kept
# below the home directory.
RUN useradd --create-home --uid 1000 daskdl
USER 1000
WORKDIR /home/daskdl
ENV PATH=/opt/daskdl/bin:$PATH
ENTRYPOINT ["daskdl"]
CMD ["--help"]
