/* SPDX-License-Identifier: Apache-2.0
 *
 * A library whose functions are all those of the one it is linked to, or none.
 */
