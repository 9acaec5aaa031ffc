// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"net/url"
)

type podList struct {
	Items []struct {
		Metadata struct{ UID string }
	}
}

// Pods lists the uids of the pods that are bound to the node and have not ended.
func (c *Client) Pods(ctx context.Context, node string) ([]string, error) {
	query := url.Values{"fieldSelector": {"spec.nodeName=" + node + ",status.phase!=Succeeded,status.phase!=Failed"}}
	return c.pods(ctx, "/api/v1/pods?"+query.Encode())
}

// KubeletPods lists the uids of the pods that the node's kubelet itself knows of.
func (c *Client) KubeletPods(ctx context.Context, node string) ([]string, error) {
	return c.pods(ctx, "/api/v1/nodes/"+node+"/proxy/pods")
}

func (c *Client) pods(ctx context.Context, path string) ([]string, error) {
	var list podList
	err := c.get(ctx, path, &list)
	var uids []string
	for _, item := range list.Items {
		uids = append(uids, item.Metadata.UID)
	}
	return uids, err
}
