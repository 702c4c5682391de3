// Package browser tests the pages of "gale serve" in Chromium: how they look on a screen and
// on a phone, the filter, sorting, uploads, and video. Without Chromium the tests are left
// out.
//
// With GALE_SCREENSHOTS=DIR the tests write pictures of the pages to DIR, to be looked at.
package browser
