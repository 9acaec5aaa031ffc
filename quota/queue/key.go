// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"encoding/hex"
	"fmt"
	"slices"
	"time"
)

// Alphabet has the characters of keys, lowest first. It holds those of UIDs, so
// that a default key is a key.
const Alphabet = "-0123456789abcdefghijklmnopqrstuvwxyz"

const (
	base   = len(Alphabet)
	lowest = '-'
	// MaxKey is how long a key may get, in bytes.
	MaxKey = 1024
)

// DefaultKey is the key of a workload that was never moved: the seconds of its
// creation in eleven digits, a dash, and its UID. A time before 1970 counts as
// 1970.
func DefaultKey(created time.Time, uid string) string {
	const wide = 11
	uid = uidPart(uid)
	key := make([]byte, 0, wide+1+len(uid))
	for n := seconds(created); len(key) < wide; n /= 10 {
		key = append(key, byte('0'+n%10))
	}
	slices.Reverse(key)
	return string(append(append(key, lowest), uid...))
}

func seconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return max(0, t.Unix())
}

// uidPart is the UID where it is made of the alphabet, as those of Kubernetes are,
// else its bytes in hexadecimal.
func uidPart(uid string) string {
	if n := len(uid); n > 0 && uid[n-1] != lowest {
		for i := 0; digit(uid[i]) >= 0; i++ {
			if i == n-1 {
				return uid
			}
		}
	}
	return hex.EncodeToString([]byte(uid)) + "0"
}

// CheckKey says what is wrong with a key that somebody wrote, or nil.
func CheckKey(key string) error {
	if key == "" {
		return fmt.Errorf("the key is empty; it has 1 to %d of the characters %s", MaxKey, Alphabet)
	}
	if len(key) > MaxKey {
		return fmt.Errorf("the key is %d characters long; it may have %d", len(key), MaxKey)
	}
	for i := range len(key) {
		if digit(key[i]) < 0 {
			return fmt.Errorf("the key %q has a character that keys do not have at position %d; allowed are %s", key, i+1, Alphabet)
		}
	}
	if key[len(key)-1] == lowest {
		return fmt.Errorf("the key %q ends in %q; nothing would sort directly before it", key, string(lowest))
	}
	return nil
}

// places are the places of all bytes in the alphabet, from 1; 0: not in it.
var places = func() (t [256]uint8) {
	for i := range len(Alphabet) {
		t[Alphabet[i]] = uint8(i + 1)
	}
	return t
}()

// digit is the place of a character in the alphabet, from 0, or -1.
func digit(c byte) int { return int(places[c]) - 1 }

// startDigits is how many characters of a key fit into a number: base^12 < 2^63. The
// seconds of a default key and the dash behind them are as many.
const startDigits = 12

// startOf is a number that orders strings of the alphabet by their first characters:
// where it differs, they sort like it. It is false where one of these is not in the
// alphabet.
func startOf(key string) (uint64, bool) {
	var n uint64
	for i := range startDigits {
		d := 0
		if i < len(key) {
			if d = digit(key[i]); d < 0 {
				return 0, false
			}
		}
		n = n*uint64(base) + uint64(d)
	}
	return n, true
}

// startOfSeconds is startOf of what a default key begins with.
func startOfSeconds(seconds int64) uint64 {
	var n uint64
	for place := uint64(base); place < wholeKey; place *= uint64(base) {
		n += place * uint64(1+seconds%10) // a digit's place in the alphabet
		seconds /= 10
	}
	return n
}

// wholeKey is base^startDigits.
var wholeKey = func() uint64 {
	n := uint64(1)
	for range startDigits {
		n *= uint64(base)
	}
	return n
}()
