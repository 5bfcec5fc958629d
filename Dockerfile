# Images for users with a registry.
#
#   docker build --target operator --build-arg VERSION=v0.1.0 -t REGISTRY/nodrop:v0.1.0 .
#   docker build --target device   --build-arg VERSION=v0.1.0 -t REGISTRY/nodrop-device:v0.1.0 .
#
# What is below can be given by digest: --build-arg GO_VERSION=1.26@sha256:..., and
# CONTAINERLAB_VERSION and DISTROLESS in the same way. The chart takes the digest of what was
# built: image.tag=@sha256:...
#
# The binary is static: operator, runner and agent run from the first image. The
# second adds containerlab, and is needed only for beds with a virtual device.
ARG GO_VERSION=1.26
ARG CONTAINERLAB_VERSION=0.69.3
ARG DISTROLESS=nonroot

FROM golang:${GO_VERSION} AS build
ARG VERSION=devel
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X nodrop.dev/nodrop/internal/base/version.Version=${VERSION}" -o /nodrop ./cmd/nodrop

FROM ghcr.io/srl-labs/clab:${CONTAINERLAB_VERSION} AS device
COPY --from=build /nodrop /nodrop
ENTRYPOINT ["/nodrop"]

FROM gcr.io/distroless/static:${DISTROLESS} AS operator
COPY --from=build /nodrop /nodrop
USER 65532:65532
ENTRYPOINT ["/nodrop"]
