/**
 * A remote address with what is known of it: whether it is validated, and what may be sent to it.
 */
package io.kcp4j.internal.path;
