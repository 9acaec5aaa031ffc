// SPDX-License-Identifier: Apache-2.0

package containerd

import (
	"context"
	"fmt"

	containers "github.com/containerd/containerd/api/services/containers/v1"
	content "github.com/containerd/containerd/api/services/content/v1"
	diff "github.com/containerd/containerd/api/services/diff/v1"
	images "github.com/containerd/containerd/api/services/images/v1"
	leases "github.com/containerd/containerd/api/services/leases/v1"
	snapshots "github.com/containerd/containerd/api/services/snapshots/v1"
	tasks "github.com/containerd/containerd/api/services/tasks/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// DefaultSocket is where containerd listens unless it is told otherwise.
const DefaultSocket = "/run/containerd/containerd.sock"

// namespace in which the kubelet's containers and images are.
const namespace = "k8s.io"

// maxMessageBytes bounds an answer; a command's output is at most 16 MiB for each stream.
const maxMessageBytes = 40 << 20

// Client talks to one containerd. Make it with New. It may be used by several goroutines,
// but one container is committed by one of them at a time.
type Client struct {
	conn       *grpc.ClientConn
	containers containers.ContainersClient
	content    content.ContentClient
	diff       diff.DiffClient
	images     images.ImagesClient
	leases     leases.LeasesClient
	snapshots  snapshots.SnapshotsClient
	tasks      tasks.TasksClient
	runtime    cri.RuntimeServiceClient
}

// New returns a client for the socket. It does not wait for containerd, and finds it
// again after its restart.
func New(socket string) (*Client, error) {
	conn, err := grpc.NewClient("unix://"+socket,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessageBytes)),
		grpc.WithUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, call grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			return call(inNamespace(ctx), method, req, reply, cc, opts...)
		}),
		grpc.WithStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			return open(inNamespace(ctx), desc, cc, method, opts...)
		}))
	if err != nil {
		return nil, fmt.Errorf("dial containerd: %w", err)
	}
	return newClient(conn), nil
}

func newClient(conn *grpc.ClientConn) *Client {
	return &Client{
		conn:       conn,
		containers: containers.NewContainersClient(conn),
		content:    content.NewContentClient(conn),
		diff:       diff.NewDiffClient(conn),
		images:     images.NewImagesClient(conn),
		leases:     leases.NewLeasesClient(conn),
		snapshots:  snapshots.NewSnapshotsClient(conn),
		tasks:      tasks.NewTasksClient(conn),
		runtime:    cri.NewRuntimeServiceClient(conn),
	}
}

// Close ends the connection.
func (c *Client) Close() error { return c.conn.Close() }

func inNamespace(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "containerd-namespace", namespace)
}

// withLease makes what is written belong to a lease until something else refers to it.
func withLease(ctx context.Context, lease string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "containerd-lease", lease)
}
