//! The single list of entry points: every function that the headers of cuDNN 9 declare, but for those that return no status. These are in
//! [`exports`](crate::exports).
//!
//! Its parts say what the wrapper does before it calls the function of the module:
//!
//! - `handle`: looks up the handle;
//! - `plain`: nothing;
//! - `refused`: prints the name once, and returns `CUDNN_STATUS_NOT_SUPPORTED`; `refused_earlier` are names of earlier versions, which
//!   programs may still name.

/// Calls the macro `$callback` with the whole list.
macro_rules! entry_points {
    ($callback:ident) => {
        $callback! {
            handle {
                graph::execute(plan: cudnnBackendDescriptor_t, pack: cudnnBackendDescriptor_t) { cudnnBackendExecute }
                graph::workspace_size(plan: cudnnBackendDescriptor_t, pack: cudnnBackendDescriptor_t, bytes: *mut usize) { cudnnGetExecutionPlanWorkspaceSize }
                handle::set_stream(stream: cudaStream_t) { cudnnSetStream }
                handle::get_stream(stream: *mut cudaStream_t) { cudnnGetStream }
                algorithms::count_forward(count: *mut c_int) { cudnnGetConvolutionForwardAlgorithmMaxCount }
                algorithms::get_forward(x: cudnnTensorDescriptor_t, w: cudnnFilterDescriptor_t, conv: cudnnConvolutionDescriptor_t, y: cudnnTensorDescriptor_t, requested: c_int, returned: *mut c_int, results: *mut cudnnConvolutionAlgoPerf_t) { cudnnGetConvolutionForwardAlgorithm_v7 }
                algorithms::find_forward(x: cudnnTensorDescriptor_t, w: cudnnFilterDescriptor_t, conv: cudnnConvolutionDescriptor_t, y: cudnnTensorDescriptor_t, requested: c_int, returned: *mut c_int, results: *mut cudnnConvolutionAlgoPerf_t) { cudnnFindConvolutionForwardAlgorithm }
                algorithms::find_forward_in(x: cudnnTensorDescriptor_t, x_at: *mut c_void, w: cudnnFilterDescriptor_t, w_at: *mut c_void, conv: cudnnConvolutionDescriptor_t, y: cudnnTensorDescriptor_t, y_at: *mut c_void, requested: c_int, returned: *mut c_int, results: *mut cudnnConvolutionAlgoPerf_t, workspace: *mut c_void, bytes: usize) { cudnnFindConvolutionForwardAlgorithmEx }
                algorithms::bytes_forward(x: cudnnTensorDescriptor_t, w: cudnnFilterDescriptor_t, conv: cudnnConvolutionDescriptor_t, y: cudnnTensorDescriptor_t, algo: cudnnConvolutionAlgo_t, bytes: *mut usize) { cudnnGetConvolutionForwardWorkspaceSize }
                algorithms::count_data(count: *mut c_int) { cudnnGetConvolutionBackwardDataAlgorithmMaxCount }
                algorithms::get_data(w: cudnnFilterDescriptor_t, y: cudnnTensorDescriptor_t, conv: cudnnConvolutionDescriptor_t, x: cudnnTensorDescriptor_t, requested: c_int, returned: *mut c_int, results: *mut cudnnConvolutionAlgoPerf_t) { cudnnGetConvolutionBackwardDataAlgorithm_v7 }
                algorithms::find_data(w: cudnnFilterDescriptor_t, y: cudnnTensorDescriptor_t, conv: cudnnConvolutionDescriptor_t, x: cudnnTensorDescriptor_t, requested: c_int, returned: *mut c_int, results: *mut cudnnConvolutionAlgoPerf_t) { cudnnFindConvolutionBackwardDataAlgorithm }
                algorithms::find_data_in(w: cudnnFilterDescriptor_t, w_at: *mut c_void, y: cudnnTensorDescriptor_t, y_at: *mut c_void, conv: cudnnConvolutionDescriptor_t, x: cudnnTensorDescriptor_t, x_at: *mut c_void, requested: c_int, returned: *mut c_int, results: *mut cudnnConvolutionAlgoPerf_t, workspace: *mut c_void, bytes: usize) { cudnnFindConvolutionBackwardDataAlgorithmEx }
                algorithms::bytes_data(w: cudnnFilterDescriptor_t, y: cudnnTensorDescriptor_t, conv: cudnnConvolutionDescriptor_t, x: cudnnTensorDescriptor_t, algo: cudnnConvolutionAlgo_t, bytes: *mut usize) { cudnnGetConvolutionBackwardDataWorkspaceSize }
                algorithms::count_filter(count: *mut c_int) { cudnnGetConvolutionBackwardFilterAlgorithmMaxCount }
                algorithms::get_filter(x: cudnnTensorDescriptor_t, y: cudnnTensorDescriptor_t, conv: cudnnConvolutionDescriptor_t, w: cudnnFilterDescriptor_t, requested: c_int, returned: *mut c_int, results: *mut cudnnConvolutionAlgoPerf_t) { cudnnGetConvolutionBackwardFilterAlgorithm_v7 }
                algorithms::find_filter(x: cudnnTensorDescriptor_t, y: cudnnTensorDescriptor_t, conv: cudnnConvolutionDescriptor_t, w: cudnnFilterDescriptor_t, requested: c_int, returned: *mut c_int, results: *mut cudnnConvolutionAlgoPerf_t) { cudnnFindConvolutionBackwardFilterAlgorithm }
                algorithms::find_filter_in(x: cudnnTensorDescriptor_t, x_at: *mut c_void, y: cudnnTensorDescriptor_t, y_at: *mut c_void, conv: cudnnConvolutionDescriptor_t, w: cudnnFilterDescriptor_t, w_at: *mut c_void, requested: c_int, returned: *mut c_int, results: *mut cudnnConvolutionAlgoPerf_t, workspace: *mut c_void, bytes: usize) { cudnnFindConvolutionBackwardFilterAlgorithmEx }
                algorithms::bytes_filter(x: cudnnTensorDescriptor_t, y: cudnnTensorDescriptor_t, conv: cudnnConvolutionDescriptor_t, w: cudnnFilterDescriptor_t, algo: cudnnConvolutionAlgo_t, bytes: *mut usize) { cudnnGetConvolutionBackwardFilterWorkspaceSize }
                convolution::forward(alpha: *const c_void, x_desc: cudnnTensorDescriptor_t, x: *const c_void, w_desc: cudnnFilterDescriptor_t, w: *const c_void, conv: cudnnConvolutionDescriptor_t, algo: cudnnConvolutionAlgo_t, workspace: *mut c_void, given: usize, beta: *const c_void, y_desc: cudnnTensorDescriptor_t, y: *mut c_void) { cudnnConvolutionForward }
                convolution::backward_data(alpha: *const c_void, w_desc: cudnnFilterDescriptor_t, w: *const c_void, dy_desc: cudnnTensorDescriptor_t, dy: *const c_void, conv: cudnnConvolutionDescriptor_t, algo: cudnnConvolutionAlgo_t, workspace: *mut c_void, given: usize, beta: *const c_void, dx_desc: cudnnTensorDescriptor_t, dx: *mut c_void) { cudnnConvolutionBackwardData }
                convolution::backward_filter(alpha: *const c_void, x_desc: cudnnTensorDescriptor_t, x: *const c_void, dy_desc: cudnnTensorDescriptor_t, dy: *const c_void, conv: cudnnConvolutionDescriptor_t, algo: cudnnConvolutionAlgo_t, workspace: *mut c_void, given: usize, beta: *const c_void, dw_desc: cudnnFilterDescriptor_t, dw: *mut c_void) { cudnnConvolutionBackwardFilter }
                convolution::backward_bias(alpha: *const c_void, dy_desc: cudnnTensorDescriptor_t, dy: *const c_void, beta: *const c_void, db_desc: cudnnTensorDescriptor_t, db: *mut c_void) { cudnnConvolutionBackwardBias }
                convolution::bias_activation(alpha1: *const c_void, x_desc: cudnnTensorDescriptor_t, x: *const c_void, w_desc: cudnnFilterDescriptor_t, w: *const c_void, conv: cudnnConvolutionDescriptor_t, algo: cudnnConvolutionAlgo_t, workspace: *mut c_void, given: usize, alpha2: *const c_void, z_desc: cudnnTensorDescriptor_t, z: *const c_void, bias_desc: cudnnTensorDescriptor_t, bias: *const c_void, activation_desc: cudnnActivationDescriptor_t, y_desc: cudnnTensorDescriptor_t, y: *mut c_void) { cudnnConvolutionBiasActivationForward }
                pooling::forward(descriptor: cudnnPoolingDescriptor_t, alpha: *const c_void, x_desc: cudnnTensorDescriptor_t, x: *const c_void, beta: *const c_void, y_desc: cudnnTensorDescriptor_t, y: *mut c_void) { cudnnPoolingForward }
                pooling::backward(descriptor: cudnnPoolingDescriptor_t, alpha: *const c_void, y_desc: cudnnTensorDescriptor_t, y: *const c_void, dy_desc: cudnnTensorDescriptor_t, dy: *const c_void, x_desc: cudnnTensorDescriptor_t, x: *const c_void, beta: *const c_void, dx_desc: cudnnTensorDescriptor_t, dx: *mut c_void) { cudnnPoolingBackward }
                activation::forward(descriptor: cudnnActivationDescriptor_t, alpha: *const c_void, x_desc: cudnnTensorDescriptor_t, x: *const c_void, beta: *const c_void, y_desc: cudnnTensorDescriptor_t, y: *mut c_void) { cudnnActivationForward }
                activation::backward(descriptor: cudnnActivationDescriptor_t, alpha: *const c_void, y_desc: cudnnTensorDescriptor_t, y: *const c_void, dy_desc: cudnnTensorDescriptor_t, dy: *const c_void, x_desc: cudnnTensorDescriptor_t, x: *const c_void, beta: *const c_void, dx_desc: cudnnTensorDescriptor_t, dx: *mut c_void) { cudnnActivationBackward }
                local_normalization::forward(descriptor: cudnnLRNDescriptor_t, mode: cudnnLRNMode_t, alpha: *const c_void, x_desc: cudnnTensorDescriptor_t, x: *const c_void, beta: *const c_void, y_desc: cudnnTensorDescriptor_t, y: *mut c_void) { cudnnLRNCrossChannelForward }
                local_normalization::backward(descriptor: cudnnLRNDescriptor_t, mode: cudnnLRNMode_t, alpha: *const c_void, y_desc: cudnnTensorDescriptor_t, y: *const c_void, dy_desc: cudnnTensorDescriptor_t, dy: *const c_void, x_desc: cudnnTensorDescriptor_t, x: *const c_void, beta: *const c_void, dx_desc: cudnnTensorDescriptor_t, dx: *mut c_void) { cudnnLRNCrossChannelBackward }
                softmax::forward(algo: cudnnSoftmaxAlgorithm_t, mode: cudnnSoftmaxMode_t, alpha: *const c_void, x_desc: cudnnTensorDescriptor_t, x: *const c_void, beta: *const c_void, y_desc: cudnnTensorDescriptor_t, y: *mut c_void) { cudnnSoftmaxForward }
                softmax::backward(algo: cudnnSoftmaxAlgorithm_t, mode: cudnnSoftmaxMode_t, alpha: *const c_void, y_desc: cudnnTensorDescriptor_t, y: *const c_void, dy_desc: cudnnTensorDescriptor_t, dy: *const c_void, beta: *const c_void, dx_desc: cudnnTensorDescriptor_t, dx: *mut c_void) { cudnnSoftmaxBackward }
                elementwise::add(alpha: *const c_void, a_desc: cudnnTensorDescriptor_t, a: *const c_void, beta: *const c_void, c_desc: cudnnTensorDescriptor_t, c: *mut c_void) { cudnnAddTensor }
                elementwise::transform(alpha: *const c_void, x_desc: cudnnTensorDescriptor_t, x: *const c_void, beta: *const c_void, y_desc: cudnnTensorDescriptor_t, y: *mut c_void) { cudnnTransformTensor }
                elementwise::set(y_desc: cudnnTensorDescriptor_t, y: *mut c_void, value: *const c_void) { cudnnSetTensor }
                elementwise::scale(y_desc: cudnnTensorDescriptor_t, y: *mut c_void, alpha: *const c_void) { cudnnScaleTensor }
                elementwise::operate(descriptor: cudnnOpTensorDescriptor_t, alpha1: *const c_void, a_desc: cudnnTensorDescriptor_t, a: *const c_void, alpha2: *const c_void, b_desc: cudnnTensorDescriptor_t, b: *const c_void, beta: *const c_void, c_desc: cudnnTensorDescriptor_t, c: *mut c_void) { cudnnOpTensor }
                reduction::indices_size(descriptor: cudnnReduceTensorDescriptor_t, a: cudnnTensorDescriptor_t, c: cudnnTensorDescriptor_t, to: *mut usize) { cudnnGetReductionIndicesSize }
                reduction::workspace_size(descriptor: cudnnReduceTensorDescriptor_t, a: cudnnTensorDescriptor_t, c: cudnnTensorDescriptor_t, to: *mut usize) { cudnnGetReductionWorkspaceSize }
                reduction::reduce(descriptor: cudnnReduceTensorDescriptor_t, unused1: *mut c_void, unused2: usize, unused3: *mut c_void, unused4: usize, alpha: *const c_void, a_desc: cudnnTensorDescriptor_t, a: *const c_void, beta: *const c_void, c_desc: cudnnTensorDescriptor_t, c: *mut c_void) { cudnnReduceTensor }
                rnn::build(number: cudnnRNNDescriptor_t, batch: c_int) { cudnnBuildRNNDynamic }
                rnn::temporary_sizes(number: cudnnRNNDescriptor_t, mode: c_int, x_desc: cudnnRNNDataDescriptor_t, workspace: *mut usize, reserve: *mut usize) { cudnnGetRNNTempSpaceSizes }
                rnn::weight_size(number: cudnnRNNDescriptor_t, to: *mut usize) { cudnnGetRNNWeightSpaceSize }
                rnn::weight_parameters(number: cudnnRNNDescriptor_t, pseudo: c_int, given: usize, weights: *const c_void, id: c_int, matrix_desc: cudnnTensorDescriptor_t, matrix: *mut *mut c_void, bias_desc: cudnnTensorDescriptor_t, bias: *mut *mut c_void) { cudnnGetRNNWeightParams }
                rnn::forward(number: cudnnRNNDescriptor_t, mode: c_int, unused: *const c_int, x_desc: cudnnRNNDataDescriptor_t, x: *const c_void, y_desc: cudnnRNNDataDescriptor_t, y: *mut c_void, h_desc: cudnnTensorDescriptor_t, hx: *const c_void, hy: *mut c_void, c_desc: cudnnTensorDescriptor_t, cx: *const c_void, cy: *mut c_void, weight_bytes: usize, weights: *const c_void, work_bytes: usize, workspace: *mut c_void, reserve_bytes: usize, reserve: *mut c_void) { cudnnRNNForward }
                rnn::backward_data(number: cudnnRNNDescriptor_t, unused: *const c_int, y_desc: cudnnRNNDataDescriptor_t, y: *const c_void, dy: *const c_void, x_desc: cudnnRNNDataDescriptor_t, dx: *mut c_void, h_desc: cudnnTensorDescriptor_t, hx: *const c_void, dhy: *const c_void, dhx: *mut c_void, c_desc: cudnnTensorDescriptor_t, cx: *const c_void, dcy: *const c_void, dcx: *mut c_void, weight_bytes: usize, weights: *const c_void, work_bytes: usize, workspace: *mut c_void, reserve_bytes: usize, reserve: *mut c_void) { cudnnRNNBackwardData_v8 }
                rnn::backward_weights(number: cudnnRNNDescriptor_t, mode: c_int, unused: *const c_int, x_desc: cudnnRNNDataDescriptor_t, x: *const c_void, h_desc: cudnnTensorDescriptor_t, hx: *const c_void, y_desc: cudnnRNNDataDescriptor_t, y: *const c_void, weight_bytes: usize, gradients: *mut c_void, work_bytes: usize, workspace: *mut c_void, reserve_bytes: usize, reserve: *mut c_void) { cudnnRNNBackwardWeights_v8 }
                spatial_transformer::generate(number: cudnnSpatialTransformerDescriptor_t, theta: *const c_void, grid: *mut c_void) { cudnnSpatialTfGridGeneratorForward }
                spatial_transformer::generate_backward(number: cudnnSpatialTransformerDescriptor_t, dgrid: *const c_void, dtheta: *mut c_void) { cudnnSpatialTfGridGeneratorBackward }
                spatial_transformer::sample(number: cudnnSpatialTransformerDescriptor_t, alpha: *const c_void, x_desc: cudnnTensorDescriptor_t, x: *const c_void, grid: *const c_void, beta: *const c_void, y_desc: cudnnTensorDescriptor_t, y: *mut c_void) { cudnnSpatialTfSamplerForward }
                spatial_transformer::sample_backward(number: cudnnSpatialTransformerDescriptor_t, alpha: *const c_void, x_desc: cudnnTensorDescriptor_t, x: *const c_void, beta: *const c_void, dx_desc: cudnnTensorDescriptor_t, dx: *mut c_void, alpha_of_grid: *const c_void, dy_desc: cudnnTensorDescriptor_t, dy: *const c_void, grid: *const c_void, beta_of_grid: *const c_void, dgrid: *mut c_void) { cudnnSpatialTfSamplerBackward }
                ctc::loss(probs_desc: cudnnTensorDescriptor_t, probs: *const c_void, labels: *const c_int, label_lengths: *const c_int, input_lengths: *const c_int, costs: *mut c_void, gradients_desc: cudnnTensorDescriptor_t, gradients: *mut c_void, algorithm: c_int, descriptor: cudnnCTCLossDescriptor_t, unused1: *mut c_void, unused2: usize) { cudnnCTCLoss }
                ctc::loss_8(algorithm: c_int, descriptor: cudnnCTCLossDescriptor_t, probs_desc: cudnnTensorDescriptor_t, probs: *const c_void, labels: *const c_int, label_lengths: *const c_int, input_lengths: *const c_int, costs: *mut c_void, gradients_desc: cudnnTensorDescriptor_t, gradients: *mut c_void, bytes: usize, workspace: *mut c_void) { cudnnCTCLoss_v8 }
                ctc::workspace_size_8(algorithm: c_int, loss: cudnnCTCLossDescriptor_t, probabilities: cudnnTensorDescriptor_t, gradients: cudnnTensorDescriptor_t, to: *mut usize) { cudnnGetCTCLossWorkspaceSize_v8 }
                ctc::workspace_size(probabilities: cudnnTensorDescriptor_t, gradients: cudnnTensorDescriptor_t, labels: *const c_int, label_lengths: *const c_int, input_lengths: *const c_int, algorithm: c_int, loss: cudnnCTCLossDescriptor_t, to: *mut usize) { cudnnGetCTCLossWorkspaceSize }
                dropout::states_size(to: *mut usize) { cudnnDropoutGetStatesSize }
                dropout::forward(number: cudnnDropoutDescriptor_t, x_desc: cudnnTensorDescriptor_t, x: *const c_void, y_desc: cudnnTensorDescriptor_t, y: *mut c_void, reserve: *mut c_void, given: usize) { cudnnDropoutForward }
                dropout::backward(number: cudnnDropoutDescriptor_t, dy_desc: cudnnTensorDescriptor_t, dy: *const c_void, dx_desc: cudnnTensorDescriptor_t, dx: *mut c_void, reserve: *mut c_void, given: usize) { cudnnDropoutBackward }
                normalization::inference(mode: cudnnBatchNormMode_t, alpha: *const c_void, beta: *const c_void, x_desc: cudnnTensorDescriptor_t, x: *const c_void, y_desc: cudnnTensorDescriptor_t, y: *mut c_void, parameters: cudnnTensorDescriptor_t, scale: *const c_void, bias: *const c_void, mean: *const c_void, variance: *const c_void, epsilon: f64) { cudnnBatchNormalizationForwardInference }
                normalization::training(mode: cudnnBatchNormMode_t, alpha: *const c_void, beta: *const c_void, x_desc: cudnnTensorDescriptor_t, x: *const c_void, y_desc: cudnnTensorDescriptor_t, y: *mut c_void, parameters: cudnnTensorDescriptor_t, scale: *const c_void, bias: *const c_void, factor: f64, running_mean: *mut c_void, running_variance: *mut c_void, epsilon: f64, saved_mean: *mut c_void, saved_inverse: *mut c_void) { cudnnBatchNormalizationForwardTraining }
                normalization::backward(mode: cudnnBatchNormMode_t, alpha_data: *const c_void, beta_data: *const c_void, alpha_parameters: *const c_void, beta_parameters: *const c_void, x_desc: cudnnTensorDescriptor_t, x: *const c_void, dy_desc: cudnnTensorDescriptor_t, dy: *const c_void, dx_desc: cudnnTensorDescriptor_t, dx: *mut c_void, parameters: cudnnTensorDescriptor_t, scale: *const c_void, d_scale: *mut c_void, d_bias: *mut c_void, epsilon: f64, saved_mean: *const c_void, saved_inverse: *const c_void) { cudnnBatchNormalizationBackward }
                normalization_extended::training_workspace(unused1: cudnnBatchNormMode_t, operations: cudnnBatchNormOps_t, unused2: cudnnTensorDescriptor_t, unused3: cudnnTensorDescriptor_t, unused4: cudnnTensorDescriptor_t, unused5: cudnnTensorDescriptor_t, unused6: cudnnActivationDescriptor_t, to: *mut usize) { cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize }
                normalization_extended::backward_workspace(unused1: cudnnBatchNormMode_t, operations: cudnnBatchNormOps_t, unused2: cudnnTensorDescriptor_t, unused3: cudnnTensorDescriptor_t, unused4: cudnnTensorDescriptor_t, unused5: cudnnTensorDescriptor_t, unused6: cudnnTensorDescriptor_t, unused7: cudnnTensorDescriptor_t, unused8: cudnnActivationDescriptor_t, to: *mut usize) { cudnnGetBatchNormalizationBackwardExWorkspaceSize }
                normalization_extended::reserve(unused1: cudnnBatchNormMode_t, operations: cudnnBatchNormOps_t, unused2: cudnnActivationDescriptor_t, unused3: cudnnTensorDescriptor_t, to: *mut usize) { cudnnGetBatchNormalizationTrainingExReserveSpaceSize }
                normalization_extended::training_ex(mode: cudnnBatchNormMode_t, operations: cudnnBatchNormOps_t, alpha: *const c_void, beta: *const c_void, x_desc: cudnnTensorDescriptor_t, x: *const c_void, unused1: cudnnTensorDescriptor_t, unused2: *const c_void, y_desc: cudnnTensorDescriptor_t, y: *mut c_void, parameters: cudnnTensorDescriptor_t, scale: *const c_void, bias: *const c_void, factor: f64, running_mean: *mut c_void, running_variance: *mut c_void, epsilon: f64, saved_mean: *mut c_void, saved_inverse: *mut c_void, unused3: cudnnActivationDescriptor_t, unused4: *mut c_void, unused5: usize, unused6: *mut c_void, unused7: usize) { cudnnBatchNormalizationForwardTrainingEx }
                normalization_extended::backward_ex(mode: cudnnBatchNormMode_t, operations: cudnnBatchNormOps_t, alpha_data: *const c_void, beta_data: *const c_void, alpha_parameters: *const c_void, beta_parameters: *const c_void, x_desc: cudnnTensorDescriptor_t, x: *const c_void, unused1: cudnnTensorDescriptor_t, unused2: *const c_void, dy_desc: cudnnTensorDescriptor_t, dy: *const c_void, unused3: cudnnTensorDescriptor_t, unused4: *mut c_void, dx_desc: cudnnTensorDescriptor_t, dx: *mut c_void, parameters: cudnnTensorDescriptor_t, scale: *const c_void, unused5: *const c_void, d_scale: *mut c_void, d_bias: *mut c_void, epsilon: f64, saved_mean: *const c_void, saved_inverse: *const c_void, unused6: cudnnActivationDescriptor_t, unused7: *mut c_void, unused8: usize, unused9: *mut c_void, unused10: usize) { cudnnBatchNormalizationBackwardEx }
            }
            plain {
                graph::create(kind: cudnnBackendDescriptorType_t, descriptor: *mut cudnnBackendDescriptor_t) { cudnnBackendCreateDescriptor }
                graph::destroy(descriptor: cudnnBackendDescriptor_t) { cudnnBackendDestroyDescriptor }
                graph::finalize(descriptor: cudnnBackendDescriptor_t) { cudnnBackendFinalize }
                graph::set(descriptor: cudnnBackendDescriptor_t, attribute: cudnnBackendAttributeName_t, kind: cudnnBackendAttributeType_t, count: i64, elements: *const c_void) { cudnnBackendSetAttribute }
                graph::get(descriptor: cudnnBackendDescriptor_t, attribute: cudnnBackendAttributeName_t, kind: cudnnBackendAttributeType_t, requested: i64, count: *mut i64, elements: *mut c_void) { cudnnBackendGetAttribute }
                handle::create(handle: *mut cudnnHandle_t) { cudnnCreate }
                handle::destroy(handle: cudnnHandle_t) { cudnnDestroy }
                handle::get_property(part: libraryPropertyType, to: *mut c_int) { cudnnGetProperty }
                handle::check_version() { cudnnGraphVersionCheck cudnnOpsVersionCheck cudnnCnnVersionCheck cudnnAdvVersionCheck cudnnSubquadraticOpsVersionCheck }
                tensor_descriptor::create_tensor(to: *mut cudnnTensorDescriptor_t) { cudnnCreateTensorDescriptor }
                tensor_descriptor::destroy_tensor(number: cudnnTensorDescriptor_t) { cudnnDestroyTensorDescriptor }
                tensor_descriptor::create_filter(to: *mut cudnnFilterDescriptor_t) { cudnnCreateFilterDescriptor }
                tensor_descriptor::destroy_filter(number: cudnnFilterDescriptor_t) { cudnnDestroyFilterDescriptor }
                tensor_descriptor::set_4d(number: cudnnTensorDescriptor_t, format: cudnnTensorFormat_t, kind: cudnnDataType_t, n: c_int, c: c_int, h: c_int, w: c_int) { cudnnSetTensor4dDescriptor }
                tensor_descriptor::set_4d_strides(number: cudnnTensorDescriptor_t, kind: cudnnDataType_t, n: c_int, c: c_int, h: c_int, w: c_int, n_stride: c_int, c_stride: c_int, h_stride: c_int, w_stride: c_int) { cudnnSetTensor4dDescriptorEx }
                tensor_descriptor::set_nd(number: cudnnTensorDescriptor_t, kind: cudnnDataType_t, dimensions: c_int, dims: *const c_int, strides: *const c_int) { cudnnSetTensorNdDescriptor }
                tensor_descriptor::set_nd_format(number: cudnnTensorDescriptor_t, format: cudnnTensorFormat_t, kind: cudnnDataType_t, dimensions: c_int, dims: *const c_int) { cudnnSetTensorNdDescriptorEx }
                tensor_descriptor::get_4d(number: cudnnTensorDescriptor_t, kind: *mut cudnnDataType_t, n: *mut c_int, c: *mut c_int, h: *mut c_int, w: *mut c_int, n_stride: *mut c_int, c_stride: *mut c_int, h_stride: *mut c_int, w_stride: *mut c_int) { cudnnGetTensor4dDescriptor }
                tensor_descriptor::get_nd(number: cudnnTensorDescriptor_t, requested: c_int, kind: *mut cudnnDataType_t, dimensions: *mut c_int, dims: *mut c_int, strides: *mut c_int) { cudnnGetTensorNdDescriptor }
                tensor_descriptor::bytes(number: cudnnTensorDescriptor_t, to: *mut usize) { cudnnGetTensorSizeInBytes }
                tensor_descriptor::set_filter_4d(number: cudnnFilterDescriptor_t, kind: cudnnDataType_t, format: cudnnTensorFormat_t, k: c_int, c: c_int, h: c_int, w: c_int) { cudnnSetFilter4dDescriptor }
                tensor_descriptor::set_filter_nd(number: cudnnFilterDescriptor_t, kind: cudnnDataType_t, format: cudnnTensorFormat_t, dimensions: c_int, dims: *const c_int) { cudnnSetFilterNdDescriptor }
                tensor_descriptor::get_filter_4d(number: cudnnFilterDescriptor_t, kind: *mut cudnnDataType_t, format: *mut cudnnTensorFormat_t, k: *mut c_int, c: *mut c_int, h: *mut c_int, w: *mut c_int) { cudnnGetFilter4dDescriptor }
                tensor_descriptor::get_filter_nd(number: cudnnFilterDescriptor_t, requested: c_int, kind: *mut cudnnDataType_t, format: *mut cudnnTensorFormat_t, dimensions: *mut c_int, dims: *mut c_int) { cudnnGetFilterNdDescriptor }
                tensor_descriptor::filter_bytes(number: cudnnFilterDescriptor_t, to: *mut usize) { cudnnGetFilterSizeInBytes }
                descriptors::create_activation(descriptor: *mut cudnnActivationDescriptor_t) { cudnnCreateActivationDescriptor }
                descriptors::destroy_activation(descriptor: cudnnActivationDescriptor_t) { cudnnDestroyActivationDescriptor }
                descriptors::set_activation(number: cudnnActivationDescriptor_t, mode: cudnnActivationMode_t, nan: cudnnNanPropagation_t, coefficient: f64) { cudnnSetActivationDescriptor }
                descriptors::get_activation(number: cudnnActivationDescriptor_t, mode: *mut cudnnActivationMode_t, nan: *mut cudnnNanPropagation_t, coefficient: *mut f64) { cudnnGetActivationDescriptor }
                descriptors::create_operation(descriptor: *mut cudnnOpTensorDescriptor_t) { cudnnCreateOpTensorDescriptor }
                descriptors::destroy_operation(descriptor: cudnnOpTensorDescriptor_t) { cudnnDestroyOpTensorDescriptor }
                descriptors::set_operation(number: cudnnOpTensorDescriptor_t, operation: cudnnOpTensorOp_t, kind: cudnnDataType_t, nan: cudnnNanPropagation_t) { cudnnSetOpTensorDescriptor }
                descriptors::get_operation(number: cudnnOpTensorDescriptor_t, to: *mut cudnnOpTensorOp_t, kind: *mut cudnnDataType_t, nan: *mut cudnnNanPropagation_t) { cudnnGetOpTensorDescriptor }
                descriptors::create_reduction(descriptor: *mut cudnnReduceTensorDescriptor_t) { cudnnCreateReduceTensorDescriptor }
                descriptors::destroy_reduction(descriptor: cudnnReduceTensorDescriptor_t) { cudnnDestroyReduceTensorDescriptor }
                descriptors::set_reduction(number: cudnnReduceTensorDescriptor_t, operation: cudnnReduceTensorOp_t, kind: cudnnDataType_t, nan: cudnnNanPropagation_t, indices: cudnnReduceTensorIndices_t, indices_type: cudnnIndicesType_t) { cudnnSetReduceTensorDescriptor }
                descriptors::get_reduction(number: cudnnReduceTensorDescriptor_t, to: *mut cudnnReduceTensorOp_t, kind: *mut cudnnDataType_t, nan: *mut cudnnNanPropagation_t, indices: *mut cudnnReduceTensorIndices_t, indices_type: *mut cudnnIndicesType_t) { cudnnGetReduceTensorDescriptor }
                descriptors::set_swish_beta(number: cudnnActivationDescriptor_t, beta: f64) { cudnnSetActivationDescriptorSwishBeta }
                descriptors::get_swish_beta(number: cudnnActivationDescriptor_t, beta: *mut f64) { cudnnGetActivationDescriptorSwishBeta }
                convolution_descriptor::create(to: *mut cudnnConvolutionDescriptor_t) { cudnnCreateConvolutionDescriptor }
                convolution_descriptor::destroy(number: cudnnConvolutionDescriptor_t) { cudnnDestroyConvolutionDescriptor }
                convolution_descriptor::set_2d(number: cudnnConvolutionDescriptor_t, pad_h: c_int, pad_w: c_int, u: c_int, v: c_int, dilation_h: c_int, dilation_w: c_int, mode: cudnnConvolutionMode_t, compute: cudnnDataType_t) { cudnnSetConvolution2dDescriptor }
                convolution_descriptor::set_nd(number: cudnnConvolutionDescriptor_t, dimensions: c_int, pad: *const c_int, stride: *const c_int, dilation: *const c_int, mode: cudnnConvolutionMode_t, compute: cudnnDataType_t) { cudnnSetConvolutionNdDescriptor }
                convolution_descriptor::get_2d(number: cudnnConvolutionDescriptor_t, pad_h: *mut c_int, pad_w: *mut c_int, u: *mut c_int, v: *mut c_int, dilation_h: *mut c_int, dilation_w: *mut c_int, mode: *mut cudnnConvolutionMode_t, compute: *mut cudnnDataType_t) { cudnnGetConvolution2dDescriptor }
                convolution_descriptor::get_nd(number: cudnnConvolutionDescriptor_t, requested: c_int, dimensions: *mut c_int, pad: *mut c_int, stride: *mut c_int, dilation: *mut c_int, mode: *mut cudnnConvolutionMode_t, compute: *mut cudnnDataType_t) { cudnnGetConvolutionNdDescriptor }
                convolution_descriptor::set_groups(number: cudnnConvolutionDescriptor_t, groups: c_int) { cudnnSetConvolutionGroupCount }
                convolution_descriptor::get_groups(number: cudnnConvolutionDescriptor_t, to: *mut c_int) { cudnnGetConvolutionGroupCount }
                convolution_descriptor::set_math(number: cudnnConvolutionDescriptor_t, math: cudnnMathType_t) { cudnnSetConvolutionMathType }
                convolution_descriptor::get_math(number: cudnnConvolutionDescriptor_t, to: *mut cudnnMathType_t) { cudnnGetConvolutionMathType }
                convolution_descriptor::set_reorder(number: cudnnConvolutionDescriptor_t, reorder: cudnnReorderType_t) { cudnnSetConvolutionReorderType }
                convolution_descriptor::get_reorder(number: cudnnConvolutionDescriptor_t, to: *mut cudnnReorderType_t) { cudnnGetConvolutionReorderType }
                convolution_descriptor::output_nd(number: cudnnConvolutionDescriptor_t, x_desc: cudnnTensorDescriptor_t, w_desc: cudnnFilterDescriptor_t, dimensions: c_int, to: *mut c_int) { cudnnGetConvolutionNdForwardOutputDim }
                convolution_descriptor::output_2d(number: cudnnConvolutionDescriptor_t, x_desc: cudnnTensorDescriptor_t, w_desc: cudnnFilterDescriptor_t, n: *mut c_int, c: *mut c_int, h: *mut c_int, w: *mut c_int) { cudnnGetConvolution2dForwardOutputDim }
                pooling::create(to: *mut cudnnPoolingDescriptor_t) { cudnnCreatePoolingDescriptor }
                pooling::destroy(number: cudnnPoolingDescriptor_t) { cudnnDestroyPoolingDescriptor }
                pooling::set_2d(number: cudnnPoolingDescriptor_t, mode: cudnnPoolingMode_t, nan: cudnnNanPropagation_t, window_h: c_int, window_w: c_int, pad_h: c_int, pad_w: c_int, stride_h: c_int, stride_w: c_int) { cudnnSetPooling2dDescriptor }
                pooling::set_nd(number: cudnnPoolingDescriptor_t, mode: cudnnPoolingMode_t, nan: cudnnNanPropagation_t, dimensions: c_int, window: *const c_int, pad: *const c_int, stride: *const c_int) { cudnnSetPoolingNdDescriptor }
                pooling::get_2d(number: cudnnPoolingDescriptor_t, mode: *mut cudnnPoolingMode_t, nan: *mut cudnnNanPropagation_t, window_h: *mut c_int, window_w: *mut c_int, pad_h: *mut c_int, pad_w: *mut c_int, stride_h: *mut c_int, stride_w: *mut c_int) { cudnnGetPooling2dDescriptor }
                pooling::get_nd(number: cudnnPoolingDescriptor_t, requested: c_int, mode: *mut cudnnPoolingMode_t, nan: *mut cudnnNanPropagation_t, dimensions: *mut c_int, window: *mut c_int, pad: *mut c_int, stride: *mut c_int) { cudnnGetPoolingNdDescriptor }
                pooling::output_nd(number: cudnnPoolingDescriptor_t, x_desc: cudnnTensorDescriptor_t, dimensions: c_int, to: *mut c_int) { cudnnGetPoolingNdForwardOutputDim }
                pooling::output_2d(number: cudnnPoolingDescriptor_t, x_desc: cudnnTensorDescriptor_t, n: *mut c_int, c: *mut c_int, h: *mut c_int, w: *mut c_int) { cudnnGetPooling2dForwardOutputDim }
                local_normalization::create(to: *mut cudnnLRNDescriptor_t) { cudnnCreateLRNDescriptor }
                local_normalization::destroy(number: cudnnLRNDescriptor_t) { cudnnDestroyLRNDescriptor }
                local_normalization::set(number: cudnnLRNDescriptor_t, n: c_uint, alpha: f64, beta: f64, k: f64) { cudnnSetLRNDescriptor }
                local_normalization::get(number: cudnnLRNDescriptor_t, n: *mut c_uint, alpha: *mut f64, beta: *mut f64, k: *mut f64) { cudnnGetLRNDescriptor }
                rnn::create(to: *mut cudnnRNNDescriptor_t) { cudnnCreateRNNDescriptor }
                rnn::destroy(number: cudnnRNNDescriptor_t) { cudnnDestroyRNNDescriptor }
                rnn::set(number: cudnnRNNDescriptor_t, algorithm: c_int, cell: c_int, bias: c_int, direction: c_int, input_mode: c_int, kind: cudnnDataType_t, compute: cudnnDataType_t, math: cudnnMathType_t, input: c_int, hidden: c_int, projected: c_int, layers: c_int, dropout: cudnnDropoutDescriptor_t, flags: c_uint) { cudnnSetRNNDescriptor_v8 }
                rnn::get(number: cudnnRNNDescriptor_t, algorithm: *mut c_int, cell: *mut c_int, bias: *mut c_int, direction: *mut c_int, input_mode: *mut c_int, kind: *mut cudnnDataType_t, compute: *mut cudnnDataType_t, math: *mut cudnnMathType_t, input: *mut c_int, hidden: *mut c_int, projected: *mut c_int, layers: *mut c_int, dropout: *mut cudnnDropoutDescriptor_t, flags: *mut c_uint) { cudnnGetRNNDescriptor_v8 }
                rnn::set_clip(number: cudnnRNNDescriptor_t, mode: c_int, nan: cudnnNanPropagation_t, left: f64, right: f64) { cudnnRNNSetClip_v8 }
                rnn::set_clip_9(number: cudnnRNNDescriptor_t, mode: c_int, left: f64, right: f64) { cudnnRNNSetClip_v9 }
                rnn::get_clip(number: cudnnRNNDescriptor_t, mode: *mut c_int, nan: *mut cudnnNanPropagation_t, left: *mut f64, right: *mut f64) { cudnnRNNGetClip_v8 }
                rnn::get_clip_9(number: cudnnRNNDescriptor_t, mode: *mut c_int, left: *mut f64, right: *mut f64) { cudnnRNNGetClip_v9 }
                rnn::create_data(to: *mut cudnnRNNDataDescriptor_t) { cudnnCreateRNNDataDescriptor }
                rnn::destroy_data(number: cudnnRNNDataDescriptor_t) { cudnnDestroyRNNDataDescriptor }
                rnn::set_data(number: cudnnRNNDataDescriptor_t, kind: cudnnDataType_t, layout: cudnnRNNDataLayout_t, longest: c_int, batch: c_int, vector: c_int, lengths: *const c_int, padding: *mut c_void) { cudnnSetRNNDataDescriptor }
                rnn::get_data(number: cudnnRNNDataDescriptor_t, kind: *mut cudnnDataType_t, layout: *mut cudnnRNNDataLayout_t, longest: *mut c_int, batch: *mut c_int, vector: *mut c_int, requested: c_int, lengths: *mut c_int, padding: *mut c_void) { cudnnGetRNNDataDescriptor }
                spatial_transformer::create(to: *mut cudnnSpatialTransformerDescriptor_t) { cudnnCreateSpatialTransformerDescriptor }
                spatial_transformer::destroy(number: cudnnSpatialTransformerDescriptor_t) { cudnnDestroySpatialTransformerDescriptor }
                spatial_transformer::set(number: cudnnSpatialTransformerDescriptor_t, sampler: cudnnSamplerType_t, kind: cudnnDataType_t, count: c_int, dims: *const c_int) { cudnnSetSpatialTransformerNdDescriptor }
                ctc::create(to: *mut cudnnCTCLossDescriptor_t) { cudnnCreateCTCLossDescriptor }
                ctc::destroy(number: cudnnCTCLossDescriptor_t) { cudnnDestroyCTCLossDescriptor }
                ctc::set(number: cudnnCTCLossDescriptor_t, compute: cudnnDataType_t) { cudnnSetCTCLossDescriptor }
                ctc::set_extended(number: cudnnCTCLossDescriptor_t, compute: cudnnDataType_t, normalization: c_int, nan: cudnnNanPropagation_t) { cudnnSetCTCLossDescriptorEx }
                ctc::set_8(number: cudnnCTCLossDescriptor_t, compute: cudnnDataType_t, normalization: c_int, nan: cudnnNanPropagation_t, longest: c_int) { cudnnSetCTCLossDescriptor_v8 }
                ctc::set_9(number: cudnnCTCLossDescriptor_t, compute: cudnnDataType_t, normalization: c_int, gradients: c_int, longest: c_int) { cudnnSetCTCLossDescriptor_v9 }
                ctc::get(number: cudnnCTCLossDescriptor_t, compute: *mut cudnnDataType_t) { cudnnGetCTCLossDescriptor }
                ctc::get_extended(number: cudnnCTCLossDescriptor_t, compute: *mut cudnnDataType_t, normalization: *mut c_int, nan: *mut cudnnNanPropagation_t) { cudnnGetCTCLossDescriptorEx }
                ctc::get_8(number: cudnnCTCLossDescriptor_t, compute: *mut cudnnDataType_t, normalization: *mut c_int, nan: *mut cudnnNanPropagation_t, longest: *mut c_int) { cudnnGetCTCLossDescriptor_v8 }
                ctc::get_9(number: cudnnCTCLossDescriptor_t, compute: *mut cudnnDataType_t, normalization: *mut c_int, gradients: *mut c_int, longest: *mut c_int) { cudnnGetCTCLossDescriptor_v9 }
                dropout::create(to: *mut cudnnDropoutDescriptor_t) { cudnnCreateDropoutDescriptor }
                dropout::destroy(number: cudnnDropoutDescriptor_t) { cudnnDestroyDropoutDescriptor }
                dropout::reserve_size(x_desc: cudnnTensorDescriptor_t, to: *mut usize) { cudnnDropoutGetReserveSpaceSize }
                dropout::set(number: cudnnDropoutDescriptor_t, handle: cudnnHandle_t, probability: f32, states: *mut c_void, bytes: usize, seed: u64) { cudnnSetDropoutDescriptor }
                dropout::restore(number: cudnnDropoutDescriptor_t, handle: cudnnHandle_t, probability: f32, states: *mut c_void, bytes: usize, seed: u64) { cudnnRestoreDropoutDescriptor }
                dropout::get(number: cudnnDropoutDescriptor_t, unused1: cudnnHandle_t, probability: *mut f32, states: *mut *mut c_void, seed: *mut u64) { cudnnGetDropoutDescriptor }
                normalization::derive(derived: cudnnTensorDescriptor_t, x_desc: cudnnTensorDescriptor_t, mode: cudnnBatchNormMode_t) { cudnnDeriveBNTensorDescriptor }
            }
            refused {
                cudnnB2BCausalConv1dBackward cudnnB2BCausalConv1dForward cudnnBackendInitialize cudnnBackendPopulateCudaGraph
                cudnnBackendUpdateCudaGraph cudnnCausalConv1dBackward cudnnCausalConv1dForward cudnnCausalConv1dNwhBackward
                cudnnCausalConv1dNwhForward cudnnCreateAttnDescriptor cudnnCreateFusedOpsConstParamPack cudnnCreateFusedOpsPlan
                cudnnCreateFusedOpsVariantParamPack cudnnCreateSeqDataDescriptor
                cudnnCreateTensorTransformDescriptor cudnnDeriveNormTensorDescriptor cudnnDestroyAttnDescriptor
                cudnnDestroyFusedOpsConstParamPack cudnnDestroyFusedOpsPlan cudnnDestroyFusedOpsVariantParamPack
                cudnnDestroySeqDataDescriptor cudnnDestroyTensorTransformDescriptor
                cudnnDivisiveNormalizationBackward cudnnDivisiveNormalizationForward cudnnFFTCausalConv1dBackward
                cudnnFFTCausalConv1dForward cudnnFusedOpsExecute cudnnGetAttnDescriptor cudnnGetCallback
                cudnnGetFoldedConvBackwardDataDescriptors cudnnGetFusedOpsConstParamPackAttribute cudnnGetFusedOpsVariantParamPackAttribute
                cudnnGetMultiHeadAttnBuffers cudnnGetMultiHeadAttnWeights cudnnGetNormalizationBackwardWorkspaceSize
                cudnnGetNormalizationForwardTrainingWorkspaceSize cudnnGetNormalizationTrainingReserveSpaceSize cudnnGetSeqDataDescriptor
                cudnnGetTensorTransformDescriptor cudnnGnnAggSimpleBackward cudnnGnnAggSimpleForward cudnnGnnMhaGatBackward
                cudnnGnnMhaGatForward cudnnGnnMhaGatV2Backward cudnnGnnMhaGatV2Forward cudnnIm2Col cudnnInitTransformDest
                cudnnLongFFTCausalConv1dBackward cudnnLongFFTCausalConv1dForward cudnnLongFFTCausalConv1dGetBufferSizes
                cudnnMakeFusedOpsPlan cudnnMultiHeadAttnBackwardData cudnnMultiHeadAttnBackwardWeights cudnnMultiHeadAttnForward
                cudnnNormalizationBackward cudnnNormalizationForwardInference cudnnNormalizationForwardTraining cudnnQueryRuntimeError
                cudnnReorderFilterAndBias cudnnSetAttnDescriptor cudnnSetCallback cudnnSetFusedOpsConstParamPackAttribute
                cudnnSetFusedOpsVariantParamPackAttribute cudnnSetSeqDataDescriptor
                cudnnSetTensorTransformDescriptor
                cudnnTransformFilter cudnnTransformTensorEx
            }
            refused_earlier {
                cudnnCopyAlgorithmDescriptor cudnnCreateAlgorithmDescriptor cudnnCreateAlgorithmPerformance cudnnCreatePersistentRNNPlan
                cudnnDestroyAlgorithmDescriptor cudnnDestroyAlgorithmPerformance cudnnDestroyPersistentRNNPlan
                cudnnFindRNNBackwardDataAlgorithmEx cudnnFindRNNBackwardWeightsAlgorithmEx cudnnFindRNNForwardInferenceAlgorithmEx
                cudnnFindRNNForwardTrainingAlgorithmEx cudnnGetAlgorithmDescriptor cudnnGetAlgorithmPerformance cudnnGetAlgorithmSpaceSize
                cudnnGetRNNBackwardDataAlgorithmMaxCount cudnnGetRNNBackwardWeightsAlgorithmMaxCount cudnnGetRNNBiasMode
                cudnnGetRNNDescriptor_v6 cudnnGetRNNForwardInferenceAlgorithmMaxCount cudnnGetRNNForwardTrainingAlgorithmMaxCount
                cudnnGetRNNLinLayerBiasParams cudnnGetRNNLinLayerMatrixParams cudnnGetRNNMatrixMathType cudnnGetRNNPaddingMode
                cudnnGetRNNParamsSize cudnnGetRNNProjectionLayers cudnnGetRNNTrainingReserveSize cudnnGetRNNWorkspaceSize
                cudnnRNNBackwardData cudnnRNNBackwardDataEx cudnnRNNBackwardWeights cudnnRNNBackwardWeightsEx cudnnRNNForwardInference
                cudnnRNNForwardInferenceEx cudnnRNNForwardTraining cudnnRNNForwardTrainingEx cudnnRNNGetClip cudnnRNNSetClip
                cudnnRestoreAlgorithm cudnnSaveAlgorithm cudnnSetAlgorithmDescriptor cudnnSetAlgorithmPerformance cudnnSetPersistentRNNPlan
                cudnnSetRNNAlgorithmDescriptor cudnnSetRNNBiasMode cudnnSetRNNDescriptor_v6 cudnnSetRNNMatrixMathType cudnnSetRNNPaddingMode
                cudnnSetRNNProjectionLayers
            }
        }
    };
}
pub(crate) use entry_points;
