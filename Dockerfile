# syntax=docker/dockerfile:1
# SPDX-License-Identifier: Apache-2.0
#
# One image with the node agent, the controller, the kubectl plugin and the CDI
# hook. It is cross-compiled: the build stage always runs on the build machine,
# nothing runs in the target's architecture, so no emulator is needed.
#
#   docker buildx build --platform linux/amd64,linux/arm64 --build-arg VERSION=v0.1.0 .
#
# BUILDER_IMAGE needs Go, gcc and, for the other architecture, its cross gcc.
# RUNTIME_IMAGE needs glibc (the driver's libnvidia-ml.so.1 is loaded from the
# host) and a shell (the chart's init container).
# GOPROXY=off with a module cache mounted at /go/pkg/mod builds without network.

ARG BUILDER_IMAGE=golang:1.26-bookworm
ARG RUNTIME_IMAGE=debian:bookworm-slim

FROM --platform=$BUILDPLATFORM ${BUILDER_IMAGE} AS build
ARG TARGETARCH=amd64
ARG GOPROXY
ARG GOFLAGS
ENV PATH=/usr/local/go/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    GOPATH=/go GOCACHE=/go/cache GOTOOLCHAIN=local GOOS=linux
WORKDIR /src
COPY go.mod go.sum ./
COPY test/image/builder.sh test/image/
RUN sh test/image/builder.sh prepare "${TARGETARCH}"
COPY . .
ARG VERSION=dev
RUN sh test/image/builder.sh build "${TARGETARCH}" "${VERSION}"

# Said explicitly, because buildah would carry the first stage's platform over.
FROM --platform=$TARGETPLATFORM ${RUNTIME_IMAGE}
ARG VERSION=dev
ARG REVISION=unknown
LABEL org.opencontainers.image.title="AIPub node & quota" \
      org.opencontainers.image.description="Kubernetes device plugin, node-level GPU sharer and quota controller" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.vendor="AIPub" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /out/ /
# The controller needs no user; the chart gives the node agent uid 0.
USER 65532:65532
ENTRYPOINT ["/usr/bin/aipub-controller"]
