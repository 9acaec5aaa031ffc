// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"fmt"
	"strings"
	"testing"
	"time"

	api "aipub.io/aipub/api/v1alpha1"
)

// yielders writes them down: "s2/1of2 b3".
func yielders(list []Yielder) string {
	var words []string
	for _, y := range list {
		word := y.Claim.UID
		if y.Reason == api.ReasonYieldedHeadroom {
			word += fmt.Sprintf("/%dof%d", y.Group, y.Most)
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func TestYielders(t *testing.T) {
	b := fullProject(t)
	want(t, "all that may go, the youngest first", yielders(b.Yielders(noon.Add(time.Hour))), "s2/1of2 s3/1of2 s1/1of2 b3 b2")
	want(t, "who borrows may run ten minutes", yielders(b.Yielders(noon.Add(13*time.Minute))), "s2/1of2 s3/1of2 s1/1of2 b2")
	b.Release("s2")
	b.Release("b1") // what is left of bob's is within his own limit
	want(t, "one replica is left to go", yielders(b.Yielders(noon.Add(time.Hour))), "s3/1of1 s1/1of1")
	b.Release("s3")
	want(t, "the minimum stays", yielders(b.Yielders(noon.Add(time.Hour))), "")
}

func TestWhoYieldsRoomIsToldForWhom(t *testing.T) {
	y := fullProject(t).Yielders(noon.Add(time.Hour))[3]
	v := y.Victim(pod("x", "carol", large(1)), "Job ml/x")
	want(t, "the sentence", v.Message, "pod ml/b3 ran on quota that its project did not use, and yields set small to Job ml/x of project vision, "+
		"which is within its quota: no node had room for it")
	if v.Reason != api.ReasonYieldedBorrowed || v.For != workloadOf("x") {
		t.Errorf("victim %+v", v)
	}
}
