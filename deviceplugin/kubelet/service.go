// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"aipub.io/aipub/deviceplugin"
	"aipub.io/aipub/gpu"
	"aipub.io/aipub/gpu/choice"
)

func resourceName(set string) string { return gpu.ResourceName(set) }

// GetDevicePluginOptions answers with what was said at registration.
func (e *endpoint) GetDevicePluginOptions(context.Context, *pluginapi.Empty) (*pluginapi.DevicePluginOptions, error) {
	return e.options(), nil
}

// ListAndWatch sends the set's full list first and again whenever it has
// changed. Changes that come while a list is being sent are one list.
func (e *endpoint) ListAndWatch(_ *pluginapi.Empty, stream pluginapi.DevicePlugin_ListAndWatchServer) error {
	e.stream(1)
	defer e.stream(-1)
	changed, stop := e.node.Watch()
	defer stop()
	var last []deviceplugin.Device
	for first := true; ; {
		select {
		case <-stream.Context().Done():
			return nil
		case <-e.ended:
			return nil
		case <-e.withdrawn:
			return stream.Send(&pluginapi.ListAndWatchResponse{})
		case <-changed:
		case <-e.again:
			last = nil
		}
		snap := e.node.Snapshot()
		devs := deviceplugin.Devices(snap, e.set)
		if !first && deviceplugin.Equal(devs, last) {
			continue
		}
		if err := deviceplugin.Check(e.set, devs); err != nil {
			e.log.Error(err, "device list kept back")
			continue
		}
		if err := stream.Send(listMessage(devs)); err != nil {
			return err
		}
		if !first {
			e.cfg.Metrics.listed(e.set, e.cfg.Now().Sub(snap.At))
		}
		first, last = false, devs
	}
}

func listMessage(devs []deviceplugin.Device) *pluginapi.ListAndWatchResponse {
	out := make([]*pluginapi.Device, len(devs))
	for i, d := range devs {
		out[i] = &pluginapi.Device{ID: d.ID, Health: pluginapi.Unhealthy}
		if d.Healthy {
			out[i].Health = pluginapi.Healthy
		}
		if len(d.NUMANodes) > 0 {
			out[i].Topology = &pluginapi.TopologyInfo{}
			for _, n := range d.NUMANodes {
				out[i].Topology.Nodes = append(out[i].Topology.Nodes, &pluginapi.NUMANode{ID: int64(n)})
			}
		}
	}
	return &pluginapi.ListAndWatchResponse{Devices: out}
}

// GetPreferredAllocation advises the kubelet. An error would refuse the pod, so
// where there is no advice the answer is empty and the kubelet chooses.
func (e *endpoint) GetPreferredAllocation(_ context.Context, req *pluginapi.PreferredAllocationRequest) (*pluginapi.PreferredAllocationResponse, error) {
	resp := &pluginapi.PreferredAllocationResponse{}
	snap := e.node.Snapshot()
	for _, r := range req.ContainerRequests {
		ids, err := choice.Prefer(snap, sliceIDs(r.AvailableDeviceIDs), sliceIDs(r.MustIncludeDeviceIDs), int(r.AllocationSize))
		if err != nil {
			e.log.V(1).Info("no preferred allocation", "reason", err.Error())
		}
		resp.ContainerResponses = append(resp.ContainerResponses, &pluginapi.ContainerPreferredAllocationResponse{DeviceIDs: deviceIDs(ids)})
	}
	return resp, nil
}

// Allocate claims the slices and says what their container gets. If making the
// answer fails the claim is left to run out, since the slices may have been
// held before.
func (e *endpoint) Allocate(_ context.Context, req *pluginapi.AllocateRequest) (*pluginapi.AllocateResponse, error) {
	start := e.cfg.Now()
	resp, err := e.allocate(req)
	e.cfg.Metrics.allocated(e.set, e.cfg.Now().Sub(start), err)
	if err != nil {
		e.log.Info("allocation refused", "reason", err.Error())
		return nil, status.Error(codes.FailedPrecondition, err.Error())
	}
	return resp, nil
}

func (e *endpoint) allocate(req *pluginapi.AllocateRequest) (*pluginapi.AllocateResponse, error) {
	var all []gpu.SliceID
	for _, r := range req.ContainerRequests {
		all = append(all, sliceIDs(r.DevicesIds)...)
	}
	if err := e.node.Claim(e.set, all); err != nil {
		return nil, err
	}
	snap := e.node.Snapshot()
	resp := &pluginapi.AllocateResponse{}
	for _, r := range req.ContainerRequests {
		parts, err := e.cfg.Response(find(snap, r.DevicesIds))
		if err != nil {
			return nil, fmt.Errorf("prepare slices %v: %w", r.DevicesIds, err)
		}
		resp.ContainerResponses = append(resp.ContainerResponses, parts.message())
	}
	return resp, nil
}

// find returns the slices with the given IDs, in the snapshot's order.
func find(snap gpu.Snapshot, ids []string) []gpu.Slice {
	found := make([]gpu.Slice, 0, len(ids))
	for i := range snap.Slices {
		if sl := &snap.Slices[i].Slice; slices.Contains(ids, string(sl.ID)) {
			found = append(found, *sl)
		}
	}
	return found
}

// PreStartContainer is only called when the configuration asks for it.
func (e *endpoint) PreStartContainer(ctx context.Context, req *pluginapi.PreStartContainerRequest) (*pluginapi.PreStartContainerResponse, error) {
	if e.cfg.PreStart != nil {
		if err := e.cfg.PreStart(ctx, sliceIDs(req.DevicesIds)); err != nil {
			e.log.Info("container start refused", "reason", err.Error())
			return nil, status.Error(codes.FailedPrecondition, err.Error())
		}
	}
	return &pluginapi.PreStartContainerResponse{}, nil
}

func (r Response) message() *pluginapi.ContainerAllocateResponse {
	m := &pluginapi.ContainerAllocateResponse{Envs: r.Envs, Annotations: r.Annotations}
	for _, name := range r.CDIDevices {
		m.CdiDevices = append(m.CdiDevices, &pluginapi.CDIDevice{Name: name})
	}
	for _, mt := range r.Mounts {
		m.Mounts = append(m.Mounts, &pluginapi.Mount{HostPath: mt.HostPath, ContainerPath: mt.ContainerPath, ReadOnly: mt.ReadOnly})
	}
	for _, d := range r.Devices {
		m.Devices = append(m.Devices, &pluginapi.DeviceSpec{HostPath: d.HostPath, ContainerPath: d.ContainerPath, Permissions: d.Permissions})
	}
	return m
}

func sliceIDs(ids []string) []gpu.SliceID {
	out := make([]gpu.SliceID, len(ids))
	for i, id := range ids {
		out[i] = gpu.SliceID(id)
	}
	return out
}

func deviceIDs(ids []gpu.SliceID) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = string(id)
	}
	return out
}
