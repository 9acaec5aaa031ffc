// SPDX-License-Identifier: Apache-2.0

package containerd

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"

	api "aipub.io/aipub/api/v1alpha1"
)

// login reads who one is to a registry from a file as `docker login` writes it. Of
// several entries the one with the longest path counts. Helpers that it may name are not
// run.
func login(file string, repository name.Repository) (authn.Authenticator, error) {
	if file == "" {
		return authn.Anonymous, nil
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, because(api.ReasonRegistryFailed, "read login: %w", err)
	}
	var config struct {
		Auths map[string]authn.AuthConfig `json:"auths"`
	}
	if err := json.Unmarshal(raw, &config); err != nil {
		return nil, because(api.ReasonRegistryFailed, "read login %s: %w", file, err)
	}
	best, who := "", authn.Anonymous
	for key, entry := range config.Auths {
		place := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(key, "https://"), "http://"), "/")
		if key == authn.DefaultAuthKey {
			place = name.DefaultRegistry // the one that has an address of its own here
		}
		if len(place) > len(best) && within(repository.Name(), place) {
			best, who = place, authn.FromConfig(entry)
		}
	}
	if best == "" && len(config.Auths) > 0 {
		return nil, because(api.ReasonRegistryFailed, "read login %s: %w", file, fmt.Errorf("it has no entry for %s", repository.RegistryStr()))
	}
	return who, nil
}

func within(repository, place string) bool {
	return repository == place || strings.HasPrefix(repository, place+"/")
}
