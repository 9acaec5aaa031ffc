// SPDX-License-Identifier: Apache-2.0

// Package kit builds the nouns that tests speak of: layouts and their slices.
package kit
