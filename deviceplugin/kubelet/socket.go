// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	kubeletSocket = "kubelet.sock"
	socketPrefix  = "aipub-set-"
	socketSuffix  = ".sock"
	// maxSocketPath is the longest path of a unix socket on Linux.
	maxSocketPath = 107
)

// socketPath is where a set is served: aipub-set-NAME-NONCE.sock. A name that
// would make the path too long is replaced by a part of its hash.
func socketPath(dir, set, nonce string) (string, error) {
	path := filepath.Join(dir, socketPrefix+set+"-"+nonce+socketSuffix)
	if len(path) > maxSocketPath {
		sum := sha256.Sum256([]byte(set))
		path = filepath.Join(dir, socketPrefix+hex.EncodeToString(sum[:4])+"-"+nonce+socketSuffix)
	}
	if len(path) > maxSocketPath {
		return "", fmt.Errorf("name socket in %s: the path would have %d characters, at most %d are possible", dir, len(path), maxSocketPath)
	}
	return path, nil
}

// ours reports whether a file name is a socket of this plugin.
func ours(name string) bool {
	return strings.HasPrefix(name, socketPrefix) && strings.HasSuffix(name, socketSuffix)
}

// removeStale removes the sockets that an earlier process left behind: those
// that nobody answers on. Another live agent, as during an upgrade, keeps its
// own.
func removeStale(dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("list plugin directory: %w", err)
	}
	for _, f := range files {
		if !ours(f.Name()) || f.Type()&os.ModeSocket == 0 {
			continue
		}
		path := filepath.Join(dir, f.Name())
		conn, err := net.DialTimeout("unix", path, time.Second)
		if err == nil {
			conn.Close() //nolint:errcheck // nothing was written
			continue
		}
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("remove stale socket: %w", err)
		}
	}
	return nil
}

// identity tells one incarnation of a socket file from the next; nil means that
// there is none.
func identity(path string) os.FileInfo {
	info, err := os.Lstat(path)
	if err != nil {
		return nil
	}
	return info
}

// sameFile reports whether two identities are the same incarnation. The inode
// may be given away again, the time of creation then differs.
func sameFile(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime())
}
