/* SPDX-License-Identifier: Apache-2.0
 *
 * The page's one style sheet and its SHA-256 in base64, which the page's content security policy
 * names: no other style, no script and no network is allowed. tests/unit/test_report.c computes
 * the digest again.
 */
#ifndef TILEWISE_ANALYSIS_HTML_STYLE_H
#define TILEWISE_ANALYSIS_HTML_STYLE_H

extern const char html_style[];
extern const char html_style_sha256[];

#endif
