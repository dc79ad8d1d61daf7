/** The choice of the fastest of several implementations of an inner loop. */
package io.kcp4j.internal.kernel;
