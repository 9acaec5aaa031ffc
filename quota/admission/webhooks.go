// SPDX-License-Identifier: Apache-2.0

package admission

// ConfigurationName is the name of both webhook configuration objects.
const ConfigurationName = "aipub"

// The paths under which the webhooks are served.
const (
	PathMutatePods       = "/mutate-pods"
	PathValidatePods     = "/validate-pods"
	PathValidatePolicies = "/validate-partitionpolicies"
)
