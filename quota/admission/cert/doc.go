// SPDX-License-Identifier: Apache-2.0

// Package cert keeps the webhooks' own certificate, so that nothing else needs
// to be installed for it: a certificate authority of our own and a serving
// certificate, in one Secret that all replicas share.
//
// What to do with the content of that Secret is the pure function [Renew]; the
// [Keeper] reads and writes the Secret, puts the authorities into the webhook
// configurations, and hands the certificate to the server, which so changes it
// without a restart.
//
// A rotation leaves no moment in which the API server distrusts us. The serving
// certificate is renewed after two thirds of its life by the same authority. A
// new authority is added beside the old one while that is still good for two
// serving lives, and signs nothing until the next renewal, when it has long been
// known. A replica puts the authorities into the configurations before it
// serves a certificate.
package cert
