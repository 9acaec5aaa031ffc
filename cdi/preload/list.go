// SPDX-License-Identifier: Apache-2.0

package preload

import (
	"errors"
	"slices"
	"strings"
)

// With returns the loader's list with a library in front: ours must see the
// driver's functions before another interposer does. Names in the list are
// separated by white space or colons and '#' starts a comment (ld.so(8)); what
// the image wrote stays as it is.
func With(list, library string) string {
	if slices.Contains(names(list), library) {
		return list
	}
	if list != "" && !strings.HasSuffix(list, "\n") {
		list += "\n"
	}
	return library + "\n" + list
}

func names(list string) []string {
	var all []string
	for line := range strings.Lines(list) {
		line, _, _ = strings.Cut(line, "#")
		all = append(all, strings.FieldsFunc(line, func(r rune) bool { return r == ':' || r == ' ' || r == '\t' || r == '\n' || r == '\r' })...)
	}
	return all
}

// ErrMusl says that an image's programs do not read the list.
var ErrMusl = errors.New("this image is built on musl libc, whose loader cannot be told to load the limiter of a block slice; " +
	"use an image with glibc (debian, ubuntu, ubi, …), or ask for a set with a whole GPU or a MIG instance")

// Judge looks at the dynamic loaders in an image's lib folders, by file name. It
// returns ErrMusl for an image that has musl's and not glibc's. An image
// with neither has static programs only; they are watched for on the GPU.
func Judge(loaders []string) error {
	musl := false
	for _, name := range loaders {
		if strings.HasPrefix(name, "ld-linux") {
			return nil
		}
		musl = musl || strings.HasPrefix(name, "ld-musl-")
	}
	if musl {
		return ErrMusl
	}
	return nil
}
