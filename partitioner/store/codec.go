// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
)

// Why a file cannot be trusted; wrapped by BadFileError.
var (
	// ErrSyntax: the file is not the JSON that this package writes.
	ErrSyntax = errors.New("not a record")
	// ErrChecksum: the record is not what was written.
	ErrChecksum = errors.New("checksum differs")
	// ErrVersion: another release wrote it.
	ErrVersion = errors.New("unknown version")
)

// envelope is the file's outer form.
type envelope struct {
	Version  int             `json:"version"`
	Checksum string          `json:"checksum"`
	Record   json.RawMessage `json:"record"`
}

// encode makes the file's content.
func encode(r Record) ([]byte, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode record: %w", err)
	}
	data, err := json.Marshal(envelope{Version: Version, Checksum: sum(body), Record: body})
	if err != nil {
		return nil, fmt.Errorf("encode record: %w", err)
	}
	return append(data, '\n'), nil
}

// decode reads a file's content. The checksum is over the compact form, so that
// a file that somebody pretty-printed is still read.
func decode(data []byte) (Record, error) {
	var e envelope
	if err := json.Unmarshal(data, &e); err != nil {
		return Record{}, fmt.Errorf("%w: %w", ErrSyntax, err)
	}
	if e.Version != Version {
		return Record{}, fmt.Errorf("%w %d, this release reads %d", ErrVersion, e.Version, Version)
	}
	var body bytes.Buffer
	if err := json.Compact(&body, e.Record); err != nil {
		return Record{}, fmt.Errorf("%w: %w", ErrSyntax, err)
	}
	if got := sum(body.Bytes()); got != e.Checksum {
		return Record{}, fmt.Errorf("%w: file says %s, content gives %s", ErrChecksum, e.Checksum, got)
	}
	var r Record
	if err := json.Unmarshal(body.Bytes(), &r); err != nil {
		return Record{}, fmt.Errorf("%w: %w", ErrSyntax, err)
	}
	return r, nil
}

func sum(data []byte) string {
	h := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(h[:])
}
