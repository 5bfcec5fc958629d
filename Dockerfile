# The operator's image for users with a registry:
#   docker build --build-arg VERSION=v0.1.0 -t registry.example.com/nodrop:v0.1.0 .
# The binary is static: agent, runner and operator run from this one image.
ARG GO_VERSION=1.26
ARG VERSION=devel

FROM golang:${GO_VERSION} AS build
ARG VERSION
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X nodrop.dev/nodrop/internal/version.Version=${VERSION}" -o /nodrop ./cmd/nodrop

FROM gcr.io/distroless/static:nonroot
COPY --from=build /nodrop /nodrop
USER 65532:65532
ENTRYPOINT ["/nodrop"]
