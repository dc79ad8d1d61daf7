/** The sessions of one socket: lookup, driving, keep-alive, how they end. */
package io.kcp4j.internal.session;
