// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"

	"aipub.io/aipub/gpu"
)

// DefaultPodResources is the socket on which the kubelet says who holds what.
const DefaultPodResources = "/var/lib/kubelet/pod-resources/kubelet.sock"

// maxListBytes bounds the answer of PodResources. With many pods and devices it
// is above the 4 MiB that gRPC accepts by default.
const maxListBytes = 64 << 20

// PodResources asks the kubelet who holds what. Make it with DialPodResources.
type PodResources struct {
	conn *grpc.ClientConn
}

// DialPodResources returns a client for the socket. It does not wait for the
// kubelet, and finds it again after its restart.
func DialPodResources(socket string) (*PodResources, error) {
	conn, err := grpc.NewClient("unix://"+socket,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(reconnectSoon),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxListBytes)))
	if err != nil {
		return nil, fmt.Errorf("dial pod resources: %w", err)
	}
	return &PodResources{conn: conn}, nil
}

// Close ends the connection.
func (p *PodResources) Close() error { return p.conn.Close() }

// List returns what every container on the node holds of our sets. The kubelet
// does not list containers that only initialise a pod.
func (p *PodResources) List(ctx context.Context) ([]gpu.Holding, error) {
	resp, err := podresources.NewPodResourcesListerClient(p.conn).List(ctx, &podresources.ListPodResourcesRequest{})
	if err != nil {
		return nil, fmt.Errorf("list pod resources: %w", err)
	}
	var all []gpu.Holding
	for _, pod := range resp.PodResources {
		for _, c := range pod.Containers {
			who := gpu.Holder{Namespace: pod.Namespace, Pod: pod.Name, Container: c.Name}
			all = append(all, holdings(who, c.Devices)...)
		}
	}
	return all, nil
}

// holdings are a container's slices, by set. The kubelet lists one device under
// several NUMA nodes once for each.
func holdings(who gpu.Holder, devs []*podresources.ContainerDevices) []gpu.Holding {
	var all []gpu.Holding
	at := map[string]int{}
	seen := map[string]bool{}
	for _, d := range devs {
		set, ok := strings.CutPrefix(d.ResourceName, gpu.ResourcePrefix)
		if !ok {
			continue
		}
		for _, id := range d.DeviceIds {
			if seen[d.ResourceName+" "+id] {
				continue
			}
			seen[d.ResourceName+" "+id] = true
			i, known := at[set]
			if !known {
				i = len(all)
				at[set] = i
				all = append(all, gpu.Holding{Holder: who, Set: set})
			}
			all[i].Slices = append(all[i].Slices, gpu.SliceID(id))
		}
	}
	return all
}
